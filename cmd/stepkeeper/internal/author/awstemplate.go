package author

import (
	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

var awsTemplateText = app.Text{
	Use:   "template [DIR]",
	Short: "Write a CloudFormation template that needs no CDK to deploy",
	Examples: `  stepkeeper aws template --context stage=prod
  stepkeeper aws template --context stage=prod --out release`,
	Long: `It runs the CDK app in the folder DIR (default aws), and writes one template with the zips of the functions. They
contain the workflows and the agents file. The account needs no bootstrap. Parameters are the bucket and the prefix
of the zips, an address for alarms, the days of logs and the functions' memory. It prints the commands to deploy.`,
	Args:  app.Args{Most: 1, What: "one folder at most"},
	Offer: app.Folders,
}

func newAWSTemplate(a *app.App) *cobra.Command {
	o := &deployOptions{app: a, dir: "aws"}
	out := "template"
	return a.Command(awsTemplateText, []app.Flag{
		app.FileFlags.Flag("context", &o.context, "`KEY=VALUE` settings of the CDK app"),
		app.FileFlags.Flag("out", &out, "`folder` to write to").Offers(app.Folders),
	},
		func(cmd *cobra.Command, given []string) error {
			if len(given) == 1 {
				o.dir = given[0]
			}
			if err := needCDK(); err != nil {
				return err
			}
			assembly, end, err := o.synthesise(cmd.Context(), o.context)
			if err != nil {
				return err
			}
			defer end()
			path, err := assembly.WritePlain(out)
			if err != nil {
				return failure.Wrap(err, failure.General, "", "the template was not written to %s", out)
			}
			a.Print(map[string]string{"stack": assembly.Stack, "template": path}, `wrote %[1]s and the functions' zips. Deploy it with the AWS CLI alone:

  aws s3 cp %[2]s s3://BUCKET/%[3]s/ --recursive --exclude "*" --include "*.zip"
  aws cloudformation deploy --stack-name %[3]s --template-file %[1]s --s3-bucket BUCKET \
    --capabilities CAPABILITY_NAMED_IAM --parameter-overrides %[4]s=BUCKET %[5]s=%[3]s/
`, message.Quoted(path), message.Quoted(out), assembly.Stack, cdkapp.ParamBucket, cdkapp.ParamPrefix)
			return nil
		})
}
