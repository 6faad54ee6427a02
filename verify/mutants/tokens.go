package mutants

import (
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

type lexeme struct {
	place
	kind token.Token
	text string
}

// lexemes returns the tokens of a text, independently of the text's layout. A line end counts as a semicolon
// if Go inserts one. Comments do not count. A comma or a semicolon before a closing bracket does not count
// either.
func lexemes(text string) []lexeme {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0) // a scan error gives a token that occurs in no source
	var all []lexeme
	for {
		at, kind, literal := s.Scan()
		from := file.Offset(at)
		switch kind {
		case token.EOF:
			return all
		case token.SEMICOLON:
			if from == len(text) {
				continue // the scanner adds this semicolon at the end of the text
			}
			literal = ";"
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if n := len(all); n > 0 && (all[n-1].kind == token.COMMA || all[n-1].kind == token.SEMICOLON) {
				all = all[:n-1]
			}
		}
		if literal == "" {
			literal = kind.String()
		}
		all = append(all, lexeme{place{from, from + len(literal)}, kind, literal})
	}
}

// occurrences returns the places of the old text in the source, however the lines are broken. If the old text
// is not a sequence of tokens, occurrences searches for the exact text.
func occurrences(source, old string) (found []place) {
	in, want := lexemes(source), lexemes(strings.TrimSpace(old))
	same := func(a, b lexeme) bool { return a.kind == b.kind && a.text == b.text }
	for i := range len(in) - len(want) + 1 {
		if len(want) > 0 && slices.EqualFunc(in[i:i+len(want)], want, same) {
			found = append(found, place{in[i].from, in[i+len(want)-1].to})
		}
	}
	if len(found) > 0 {
		return found
	}
	for from := 0; ; {
		n := strings.Index(source[from:], old)
		if n < 0 || old == "" {
			return found
		}
		found = append(found, place{from + n, from + n + len(old)})
		from += n + len(old)
	}
}
