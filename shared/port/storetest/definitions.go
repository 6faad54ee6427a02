package storetest

import (
	"bytes"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

var definitionCases = need(hasDefinitions, []testCase{
	{name: "an unknown hash is not found", run: func(s *suite) {
		_, err := s.Definitions.Definition(s.ctx, "none")
		s.is("Definition", err, port.ErrNotFound)
	}},
	{name: "stored and read back", run: func(s *suite) {
		s.putDefinition("h1", document(70_000))
		s.putDefinition("h2", []byte("{}"))
		s.definitionIs("h1", document(70_000))
		s.definitionIs("h2", []byte("{}"))
	}},
	{name: "the first one stays", run: func(s *suite) {
		s.putDefinition("h", []byte(`{"n":1}`))
		s.putDefinition("h", []byte(`{"n":2}`))
		s.definitionIs("h", []byte(`{"n":1}`))
	}},
	{name: "the bytes are apart", run: func(s *suite) {
		data := []byte(`{"n":1}`)
		s.putDefinition("h", data)
		data[0] = 'X'
		got, err := s.Definitions.Definition(s.ctx, "h")
		if err != nil {
			s.Fatal(err)
		}
		got[1] = 'X'
		s.definitionIs("h", []byte(`{"n":1}`))
	}},
	{name: "many put the same at once", run: func(s *suite) {
		together(s.options.Races, func(i int) {
			if err := s.Definitions.PutDefinition(s.ctx, "h", []byte(`{"n":1}`)); err != nil {
				s.Errorf("writer %d: %v", i, err)
			}
		})
		s.definitionIs("h", []byte(`{"n":1}`))
	}},
})

// need gives every case that has none a condition.
func need(condition func(*suite) bool, cases []testCase) []testCase {
	for i := range cases {
		if cases[i].needs == nil {
			cases[i].needs = condition
		}
	}
	return cases
}

func (s *suite) putDefinition(hash string, data []byte) {
	s.Helper()
	if err := s.Definitions.PutDefinition(s.ctx, hash, data); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) definitionIs(hash string, want []byte) {
	s.Helper()
	if got, err := s.Definitions.Definition(s.ctx, hash); err != nil || !bytes.Equal(got, want) {
		s.Errorf("definition %q has %d bytes (%v), want %d others", hash, len(got), err, len(want))
	}
}
