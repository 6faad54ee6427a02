package local

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// maxTokenKeys is more than the keys of tokens take.
const maxTokenKeys = 64 << 10

// NewTokenKey returns the command token-key.
func NewTokenKey(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "token-key",
		Short: "Replace the key of the tokens that answer a step, of a stack on AWS",
		Long: "Read the keys of tokens, as the secret of a stack holds them, and write them with a new " +
			"key, which new orders\n" +
			"get. Tokens of the key before are read for 400 days more. It reads the standard input, " +
			"writes the standard\n" +
			"output, and stores nothing. `stepkeeper dev --new-token-key` does the same for a data folder.",
		Example: "  aws secretsmanager get-secret-value --secret-id ARN --query SecretString --output " +
			"text |\n" +
			"    stepkeeper token-key |\n" +
			"    aws secretsmanager put-secret-value --secret-id ARN --secret-string file:///dev/stdin",
		Args: app.Args(cobra.NoArgs, "no arguments: it reads the standard input"),
		RunE: func(*cobra.Command, []string) error {
			text, err := io.ReadAll(io.LimitReader(a.Streams.In, maxTokenKeys))
			if err != nil {
				return failure.Wrap(err, failure.General, "", "the standard input cannot be read")
			}
			keys, err := token.Parse(text)
			if err != nil {
				return failure.New(failure.Usage,
					"give it the text of the secret TokenKeysSecret of the stack's outputs, or of a file "+
						token.FileName, "%v", err)
			}
			_, err = a.Streams.Out.Write(keys.Replace(core.TimeOf(a.Now())).Encode())
			return app.Written(err)
		},
	}
}
