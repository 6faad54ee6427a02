package expression

import "encoding/json"

// scanner steps over the parts of one JSON object or list without decoding them. It expects valid
// JSON, which is what the codecs let through; anything else is an error, never a panic.
type scanner struct {
	data []byte
	at   int
	err  error
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (s *scanner) space() {
	for s.at < len(s.data) && isSpace(s.data[s.at]) {
		s.at++
	}
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

// value reads one value and gives its bytes. It counts brackets instead of recursing, so that depth
// costs nothing.
func (s *scanner) value() (json.RawMessage, error) {
	s.space()
	start, depth := s.at, 0
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case '"':
			if !s.text() {
				return nil, s.bad()
			}
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			if depth == 0 {
				return s.part(start)
			}
			depth--
			s.at++
		case ',', ':':
			if depth == 0 {
				return s.part(start)
			}
			s.at++
			continue
		default:
			s.at++
			if depth > 0 || !s.last() {
				continue
			}
		}
		if depth == 0 {
			return s.part(start)
		}
	}
	return nil, s.bad()
}

// last reports whether a bare word or number ended before the current byte.
func (s *scanner) last() bool {
	if s.at >= len(s.data) {
		return false
	}
	switch c := s.data[s.at]; c {
	case ',', ':', '}', ']':
		return true
	default:
		return isSpace(c)
	}
}

func (s *scanner) part(start int) (json.RawMessage, error) {
	if start == s.at {
		return nil, s.bad()
	}
	return s.data[start:s.at], nil
}

// text steps over a string.
func (s *scanner) text() bool {
	for s.at++; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return true
		}
	}
	return false
}
