package expression

import (
	"bytes"
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// scanner steps over the parts of one JSON object or list without decoding them. It expects valid
// JSON, which is what the codecs let through; anything else is an error, never a panic.
type scanner struct {
	data []byte
	at   int
	err  error
}

func skipSpace(b []byte) []byte {
	return bytes.Trim(b, " \n\t\r")
}

func (s *scanner) space() {
	s.at = rawjson.Space(s.data, s.at)
}

// end steps over a comma and reports whether the closing bracket, or an error, ends the part.
func (s *scanner) end(bracket byte) bool {
	s.space()
	if s.at < len(s.data) && s.data[s.at] == ',' {
		s.at++
		s.space()
	}
	if s.at >= len(s.data) {
		s.err = errBadJSON
	}
	return s.err != nil || s.data[s.at] == bracket
}

// pair reads one key with its quotes, and its value.
func (s *scanner) pair() (key, value []byte, err error) {
	if s.data[s.at] != '"' {
		return nil, nil, s.bad()
	}
	if key, err = s.value(); err != nil {
		return nil, nil, err
	}
	s.space()
	if s.at >= len(s.data) || s.data[s.at] != ':' {
		return nil, nil, s.bad()
	}
	s.at++
	value, err = s.value()
	return key, value, err
}

func (s *scanner) bad() error {
	s.err = errBadJSON
	return s.err
}

// value reads one value and gives its bytes.
func (s *scanner) value() (json.RawMessage, error) {
	s.space()
	start, end := s.at, rawjson.Skip(s.data, s.at)
	if end < 0 {
		return nil, s.bad()
	}
	s.at = end
	return s.data[start:end], nil
}
