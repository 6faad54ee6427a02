package author

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// maxTokenKeys is the maximum size of the input in bytes.
const maxTokenKeys = 64 << 10

var awsTokenKeyText = app.Text{
	Use:   "token-key",
	Short: "Replace the key of answer tokens of a stack",
	Examples: `  aws secretsmanager get-secret-value --secret-id ARN --query SecretString --output text |
    stepkeeper aws token-key |
    aws secretsmanager put-secret-value --secret-id ARN --secret-string file:///dev/stdin`,
	Long: "It reads the keys from standard input and writes them with a new key to standard output. New orders use\n" +
		"the new key. Tokens of the old key stay valid for 400 days. `stepkeeper dev --new-token-key` does the\n" +
		"same for a data folder.",
}

// newTokenKey returns the command `aws token-key`.
func newTokenKey(a *app.App) *cobra.Command {
	return a.Command(awsTokenKeyText, nil, func(*cobra.Command, []string) error {
		text, err := io.ReadAll(io.LimitReader(a.Streams.In, maxTokenKeys))
		if err != nil {
			return failure.Wrap(err, failure.General, "", "the standard input cannot be read")
		}
		keys, err := token.Parse(text)
		if err != nil {
			return failure.New(failure.Usage, "give it the text of the secret TokenKeysSecret of the "+
				"stack's outputs, or of a file "+token.FileName, "%v", err)
		}
		fmt.Fprintf(a.Streams.Out, "%s", keys.Replace(core.TimeOf(a.Now())).Encode())
		return nil
	})
}
