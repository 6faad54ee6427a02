package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"
)

// addTokenKeys sets the secret with the token keys if a workflow creates tokens (P39, a token is an answer's
// permission). The secret is Props.TokenKeys or a new secret. AWS generates the first key, so the template
// does not contain the key. Only the Scheduler may read the secret.
func (s *Stepkeeper) addTokenKeys() {
	if !s.content.Tokens {
		return
	}
	s.tokenKeys = s.props.TokenKeys
	if s.tokenKeys != nil {
		return
	}
	secret := awssecretsmanager.NewSecret(s.Construct, str("TokenKeys"), &awssecretsmanager.SecretProps{
		Description: str("Stepkeeper: keys of the tokens that answer a step"), EncryptionKey: s.key,
		RemovalPolicy: s.removal(),
		GenerateSecretString: &awssecretsmanager.SecretStringGenerator{
			SecretStringTemplate: str("{}"), GenerateStringKey: str("generated"),
			PasswordLength: jsii.Number(64), ExcludePunctuation: jsii.Bool(true),
		},
	})
	Accept(secret, "AwsSolutions-SMG4",
		"A new key leaves the links valid that were sent with the one before, for 400 days; rotation by "+
			"schedule would keep two versions only.")
	s.tokenKeys = secret
}
