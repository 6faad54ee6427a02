package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
)

var (
	// ErrDamaged means that the stored bytes do not match their hash.
	ErrDamaged = errors.New(
		"stored definition does not match its hash; restore it from a backup, or deploy the workflow again")
	// ErrNewer means that a newer version of Stepkeeper wrote the definition.
	ErrNewer = errors.New("stored definition has a newer schema; deploy the newer version everywhere")
)

// Hash returns the hash of a definition's stored form; see core.DefinitionHash.
func Hash(data []byte) string { return core.DefinitionHash(data) }

// Encode returns the stored form of a definition. Equal definitions have equal bytes and hashes.
func Encode(d *core.Definition) ([]byte, error) {
	data, err := core.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode workflow %s: %w", d.Name, err)
	}
	return data, nil
}

// Decode reads the stored form with the given hash, and compiles its expressions. The error wraps ErrDamaged
// for a wrong hash, and ErrNewer for a newer schema. Decode ignores unknown fields, which a newer minor
// version may have added.
func Decode(hash string, data []byte) (*core.Definition, error) {
	if Hash(data) != hash {
		return nil, fmt.Errorf("definition %s: %w", hash, ErrDamaged)
	}
	d := &core.Definition{}
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("definition %s: %w", hash, err)
	}
	if d.Schema > core.DefinitionSchema {
		return nil, fmt.Errorf("definition %s, schema %d: %w", hash, d.Schema, ErrNewer)
	}
	d.Hash = hash
	x, err := expression.Compile(d)
	if err != nil {
		return d, err
	}
	d.Expr = x
	d.Link()
	return d, nil
}

// Seal completes a definition that code has built. It sets the schema number, the hash and the compiled
// expressions. It does not check the meaning of the definition; package source does that.
func Seal(d *core.Definition) error {
	x, err := expression.Compile(d)
	if err != nil {
		return err
	}
	d.Schema = 1
	if slices.ContainsFunc(d.Steps, func(s core.StepDefinition) bool {
		return s.Any != nil || s.HasDeadline() || s.Remind != nil ||
			s.Each != nil && (s.Each.Repeat != nil || s.Each.Enough != nil || s.Each.Events != nil)
	}) {
		d.Schema = core.DefinitionSchema
	}
	d.Tokens = x.MakesTokens() || slices.ContainsFunc(d.WithBlocks(), func(b *core.Definition) bool {
		return b != d && b.Tokens
	})
	data, err := Encode(d)
	if err != nil {
		return err
	}
	d.Hash = Hash(data)
	d.Expr = x
	d.Link()
	return nil
}
