// Package source reads orders from a file or from standard input: one JSON object, an array of
// them, or JSON Lines. Which of them it is shows in the text itself. Every record keeps the line
// where it began, so that an error can name it, and one bad record does not hide those after it.
package source

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line that is read into memory, in bytes; an order may have 64 KiB.
const MaxLine = 1 << 20

// MaxDocument is the largest file that is not JSON Lines, in bytes.
const MaxDocument = 64 << 20

// Record is one order as it stands in the file.
type Record struct {
	Line int // where it began, from 1
	Data []byte
	Err  error // why it cannot be read; Data is nil then
}

// Records reads r and calls yield for each record until it answers false. The error is one of
// reading, or says that a document that is not JSON Lines is broken.
func Records(r io.Reader, yield func(Record) bool) error {
	in := bufio.NewReaderSize(r, 64<<10)
	if bom, err := in.Peek(3); err == nil && bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
	}
	line := 1
	first, err := readLine(in)
	for ; err == nil && len(bytes.TrimSpace(first)) == 0; line++ {
		first, err = readLine(in)
	}
	if err == nil && isDocument(first, in) {
		return document(io.MultiReader(bytes.NewReader(first), in), line, yield)
	}
	return lines(first, err, in, line, yield)
}

// isDocument distinguishes a document of several lines from JSON Lines: its first line, which is not blank, is the
// beginning of a value, and the next one does not begin another object.
func isDocument(first []byte, in *bufio.Reader) bool {
	trimmed := bytes.TrimSpace(first)
	if trimmed[0] == '[' {
		return true
	}
	var raw json.RawMessage
	err := json.NewDecoder(bytes.NewReader(trimmed)).Decode(&raw)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	next, _ := in.Peek(256)
	next = bytes.TrimLeft(next, " \t\r\n")
	return len(next) > 0 && next[0] != '{'
}

var errLongLine = errors.New("line too long")

// readLine answers the next line with its end, io.EOF only where there is nothing more. Of a line
// over MaxLine it answers the beginning and errLongLine, and skips the rest.
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

// lines reads JSON Lines; blank lines are skipped. b and err are what was read first.
func lines(b []byte, err error, in *bufio.Reader, line int, yield func(Record) bool) error {
	for ; ; line++ {
		if trimmed := bytes.TrimSpace(b); len(trimmed) > 0 || errors.Is(err, errLongLine) {
			if !yield(lineRecord(trimmed, line, err)) {
				return nil
			}
		}
		if err != nil && !errors.Is(err, errLongLine) {
			break
		}
		if b, err = readLine(in); err != nil && !errors.Is(err, errLongLine) {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func lineRecord(data []byte, line int, err error) Record {
	if errors.Is(err, errLongLine) {
		return Record{Line: line, Err: fmt.Errorf("the line has more than %d bytes; an order may have 64 KiB, store large data elsewhere and send a reference", MaxLine)}
	}
	return Record{Line: line, Data: data}
}

// document reads one object or an array of them, over any number of lines.
func document(r io.Reader, line int, yield func(Record) bool) error {
	text, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return err
	}
	if len(text) > MaxDocument {
		return fmt.Errorf("it has more than %d MiB and is not JSON Lines; write one order on each line", MaxDocument>>20)
	}
	d := &reading{text: text, line: line, dec: json.NewDecoder(bytes.NewReader(text)), yield: yield}
	if text[bytes.IndexFunc(text, notSpace)] != '[' {
		return d.values()
	}
	if _, err := d.dec.Token(); err != nil {
		return d.broken(err)
	}
	return d.elements()
}

func notSpace(r rune) bool { return r != ' ' && r != '\t' && r != '\r' && r != '\n' }

// reading is a document on its way through the decoder.
type reading struct {
	text  []byte
	dec   *json.Decoder
	yield func(Record) bool
	at    int64 // up to here the lines are counted
	line  int   // of at
}

// elements reads the values of an array up to its end.
func (d *reading) elements() error {
	for d.dec.More() {
		more, err := d.next()
		if errors.Is(err, io.EOF) { // behind a comma
			return d.broken(err)
		}
		if err != nil || !more {
			return err
		}
	}
	if _, err := d.dec.Token(); err != nil {
		return d.broken(err)
	}
	if rest := bytes.TrimSpace(d.text[d.dec.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("line %d: something follows the end of the array; write one array, or one order on each line", d.lineAt(d.dec.InputOffset()))
	}
	return nil
}

// values reads objects that follow each other.
func (d *reading) values() error {
	for {
		more, err := d.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || !more {
			return err
		}
	}
}

// next hands the next value over; io.EOF where there is none.
func (d *reading) next() (more bool, err error) {
	var raw json.RawMessage
	if err := d.dec.Decode(&raw); err != nil {
		if errors.Is(err, io.EOF) {
			return false, io.EOF
		}
		return false, d.broken(err)
	}
	return d.yield(Record{Line: d.lineAt(d.dec.InputOffset() - int64(len(raw))), Data: raw}), nil
}

// lineAt answers the line of an offset, which never goes back.
func (d *reading) lineAt(at int64) int {
	if at > d.at {
		d.line += bytes.Count(d.text[d.at:at], []byte{'\n'})
		d.at = at
	}
	return d.line
}

// broken says at which line a document breaks off.
func (d *reading) broken(err error) error {
	at := d.dec.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = max(at, min(syntax.Offset, int64(len(d.text))))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		at = int64(len(d.text))
		err = errors.New("it ends in the middle of a value")
	}
	return fmt.Errorf("line %d: %w; correct the JSON there", d.lineAt(at), err)
}
