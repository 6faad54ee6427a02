package storetest

import (
	"bytes"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

var definitionCases = need(hasDefinitions, []testCase{
	{name: "an unknown hash is not found", run: func(s *suite) {
		_, err := s.Definitions.Definition(s.ctx, "none")
		s.is("Definition", err, port.ErrNotFound)
	}},
	{name: "stored and read back", run: func(s *suite) {
		s.putDefinition(document(70_000))
		s.putDefinition([]byte("{}"))
		s.definitionIs(document(70_000))
		s.definitionIs([]byte("{}"))
	}},
	{name: "stored once more", run: func(s *suite) {
		s.putDefinition([]byte(`{"n":1}`))
		s.putDefinition([]byte(`{"n":1}`))
		s.definitionIs([]byte(`{"n":1}`))
	}},
	{name: "bytes of another hash are refused", run: func(s *suite) {
		hash := core.DefinitionHash([]byte(`{"n":1}`))
		other := []byte(`{ "n": 1 }`) // the same, in another encoding
		s.is("PutDefinition", s.Definitions.PutDefinition(s.ctx, hash, other), port.ErrHash)
		_, err := s.Definitions.Definition(s.ctx, hash)
		s.is("Definition", err, port.ErrNotFound)
		s.putDefinition([]byte(`{"n":1}`))
		s.is("PutDefinition of what is there", s.Definitions.PutDefinition(s.ctx, hash, other), port.ErrHash)
		s.definitionIs([]byte(`{"n":1}`))
	}},
	{name: "the bytes are apart", run: func(s *suite) {
		data := []byte(`{"n":1}`)
		s.putDefinition(data)
		data[0] = 'X'
		got, err := s.Definitions.Definition(s.ctx, core.DefinitionHash([]byte(`{"n":1}`)))
		if err != nil {
			s.Fatal(err)
		}
		got[1] = 'X'
		s.definitionIs([]byte(`{"n":1}`))
	}},
	{name: "many put the same at once", run: func(s *suite) {
		data := []byte(`{"n":1}`)
		together(s.options.Races, func(i int) {
			if err := s.Definitions.PutDefinition(s.ctx, core.DefinitionHash(data), data); err != nil {
				s.Errorf("writer %d: %v", i, err)
			}
		})
		s.definitionIs(data)
	}},
})

// need gives every case that has none a condition.
func need(condition func(*suite) bool, cases []testCase) []testCase {
	cases = slices.Clone(cases) // they are shared by suites that run at the same time
	for i := range cases {
		if cases[i].needs == nil {
			cases[i].needs = condition
		}
	}
	return cases
}

func (s *suite) putDefinition(data []byte) {
	s.Helper()
	if err := s.Definitions.PutDefinition(s.ctx, core.DefinitionHash(data), data); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) definitionIs(want []byte) {
	s.Helper()
	hash := core.DefinitionHash(want)
	if got, err := s.Definitions.Definition(s.ctx, hash); err != nil || !bytes.Equal(got, want) {
		s.Errorf("definition %q has %d bytes (%v), want %d others", hash, len(got), err, len(want))
	}
}
