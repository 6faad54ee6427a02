// Package source reads orders from a file or from standard input. The input is one JSON object, an array of
// objects, or JSON Lines. The package detects the form from the input.
//
// Each record has a line number, so that an error can name the line. In JSON Lines, the package continues
// after an invalid line.
package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxLine is the maximum length of a line in bytes. An order may have only 64 KiB.
const MaxLine = 1 << 20

// MaxDocument is the maximum size in bytes of a file that is not JSON Lines.
const MaxDocument = 64 << 20

// Record is one order of the input.
type Record struct {
	Line int // first line of the record, counted from 1
	Data []byte
	Err  error // reason why the record cannot be read; Data is then nil
}

// Records reads r and calls yield for each record, until yield returns false. It returns an error if reading
// fails. An invalid document is an error too, but an invalid line of JSON Lines is not.
func Records(r io.Reader, yield func(Record) bool) error {
	in := bufio.NewReaderSize(r, 64<<10)
	if bom, err := in.Peek(3); err == nil && bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
	}
	first, line := begin(in)
	if first == '[' { // The array may be one line, longer than MaxLine.
		return document(in, line, yield)
	}
	for begun := false; ; line++ {
		b, err := readLine(in)
		if err != nil && !errors.Is(err, errLongLine) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		record := Record{Line: line, Data: bytes.TrimSpace(b), Err: err}
		switch {
		case err != nil:
			record.Data = nil
		case len(record.Data) == 0:
			continue
		case !begun && isDocument(record.Data, in):
			return document(io.MultiReader(bytes.NewReader(b), in), line, yield)
		}
		begun = true
		if !yield(record) {
			return nil
		}
	}
}

// begin skips white space. It returns the next byte, or 0 if reading fails, and the number of its line. It reads no
// further, so that an order of a slow input does not wait for the next one.
func begin(in *bufio.Reader) (first byte, line int) {
	line = 1
	first, err := in.ReadByte()
	for ; err == nil && bytes.IndexByte([]byte(" \t\r\n"), first) >= 0; first, err = in.ReadByte() {
		if first == '\n' {
			line++
		}
	}
	_ = in.UnreadByte() // Without a byte to unread, the input is empty, or its error comes again.
	return first, line
}

// isDocument reports whether the input is one document over several lines, instead of JSON Lines: its first line that
// is not blank is an incomplete value, and the next line does not begin an object.
func isDocument(first []byte, in *bufio.Reader) bool {
	if _, err := decoder(first).ReadValue(); !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	next, _ := in.Peek(256)
	next = bytes.TrimLeft(next, " \t\r\n")
	return len(next) > 0 && next[0] != '{'
}

var errLongLine = fmt.Errorf("the line has more than %d bytes; an order may have 64 KiB, store large data elsewhere "+
	"and send a reference", MaxLine)

// readLine returns the next line with its line end. It returns io.EOF only at the end of the input. If a line
// is longer than MaxLine, readLine skips the rest of the line and returns errLongLine.
func readLine(in *bufio.Reader) ([]byte, error) {
	var b []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if len(b)+len(part) > MaxLine {
			long = true
		}
		if !long {
			b = append(b, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(b) == 0 && !long):
			return b, err
		case long:
			return b, errLongLine
		}
		return b, nil
	}
}

// document reads an array of objects, or one or more objects in sequence.
func document(r io.Reader, line int, yield func(Record) bool) error {
	text, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return err
	}
	if len(text) > MaxDocument {
		return fmt.Errorf("it has more than %d MiB and is not JSON Lines; write one order on each line",
			MaxDocument>>20)
	}
	d := &reading{text: text, line: line, Decoder: decoder(text)}
	list := d.PeekKind() == jsontext.KindBeginArray
	if list {
		_, _ = d.ReadToken()
	}
	for kind := d.PeekKind(); kind != jsontext.KindInvalid &&
		kind != jsontext.KindEndArray; kind = d.PeekKind() {
		value, err := d.ReadValue()
		if err != nil {
			return d.broken(err)
		}
		start := d.InputOffset() - int64(len(value))
		if !yield(Record{Line: d.lineAt(start), Data: text[start:d.InputOffset()]}) {
			return nil
		}
	}
	if _, err := d.ReadToken(); list && err != nil || !list && !errors.Is(err, io.EOF) {
		return d.broken(err)
	}
	if end := d.InputOffset(); list && len(bytes.TrimSpace(text[end:])) > 0 {
		return fmt.Errorf("line %d: something follows the end of the array; write one array, or one order "+
			"on each line", d.lineAt(end))
	}
	return nil
}

// decoder returns a decoder for consecutive JSON values. It accepts duplicate names and invalid UTF-8,
// because the caller checks each value later.
func decoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
}

type reading struct {
	*jsontext.Decoder
	text []byte
	at   int64 // offset up to which lines are counted
	line int   // number of the line at this offset
}

// lineAt returns the line at an offset. The offset must not be smaller than in the previous call.
func (d *reading) lineAt(at int64) int {
	if at > d.at {
		d.line += bytes.Count(d.text[d.at:at], []byte{'\n'})
		d.at = at
	}
	return d.line
}

func (d *reading) broken(err error) error {
	at := d.InputOffset()
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		at = syntax.ByteOffset
		err = syntax.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		at = int64(len(d.text))
		err = errors.New("it ends in the middle of a value")
	}
	return fmt.Errorf("line %d: %w; correct the JSON there", d.lineAt(at), err)
}
