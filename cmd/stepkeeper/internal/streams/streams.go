// Package streams provides the input and output streams of a command. It also detects terminals, and provides
// the width and the colours of the output.
package streams

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/fatih/color"
	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Streams holds the three streams of a command. System and Test return usable values; the zero value is not
// usable.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	inTerminal, outTerminal, errTerminal bool
	colour, json                         bool
	size                                 func() (columns, rows int)
}

// System returns the streams of the process. A terminal gets colours unless NO_COLOR is set or TERM is "dumb"
// (https://no-color.org).
func System() *Streams {
	s := &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		inTerminal:  isTerminal(os.Stdin),
		outTerminal: isTerminal(os.Stdout),
		errTerminal: isTerminal(os.Stderr),
		size:        terminalSize,
	}
	s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

func isTerminal(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}

func terminalSize() (columns, rows int) {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return defaultColumns, defaultRows
	}
	return columns, rows
}

const (
	defaultColumns = 100
	defaultRows    = 40
)

// Buffers holds the contents of a test's streams.
type Buffers struct {
	In, Out, Err bytes.Buffer
}

// Test returns streams that read and write buffers. If terminal is true, the streams behave like a terminal
// with colours.
func Test(terminal bool) (*Streams, *Buffers) {
	b := &Buffers{}
	return &Streams{
		In: &b.In, Out: &b.Out, Err: &locked{w: &b.Err},
		inTerminal: terminal, outTerminal: terminal, errTerminal: terminal, colour: true,
		size: func() (int, int) { return defaultColumns, defaultRows },
	}, b
}

// locked is a writer that several goroutines may use at the same time.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// NoColour turns colours off.
func (s *Streams) NoColour() { s.colour = false }

// SayJSON turns colours off, and makes Say print JSON.
func (s *Streams) SayJSON() {
	s.NoColour()
	s.json = true
}

// Say prints on standard error what a long command does.
func (s *Streams) Say(text string) {
	if s.json {
		_ = json.NewEncoder(s.Err).Encode(map[string]string{"progress": text}) // like a line, it may be lost
		return
	}
	fmt.Fprintln(s.Err, text)
}

// IsTerminal reports whether standard output is a terminal.
func (s *Streams) IsTerminal() bool { return s.outTerminal }

// ErrIsTerminal reports whether standard error is a terminal.
func (s *Streams) ErrIsTerminal() bool { return s.errTerminal }

// Interactive reports whether the program can ask the user a question.
func (s *Streams) Interactive() bool { return s.inTerminal && s.errTerminal }

// Width returns the number of columns of the terminal.
func (s *Streams) Width() int {
	columns, _ := s.size()
	return columns
}

// Height returns the number of rows of the terminal.
func (s *Streams) Height() int {
	_, rows := s.size()
	return rows
}

// Confirm asks a question on standard error. It returns true if the user answers y or yes. Any other answer,
// or the end of the input, means false.
func (s *Streams) Confirm(question string) (bool, error) {
	fmt.Fprintf(s.Err, "%s [y/N] ", question)
	line, err := bufio.NewReader(s.In).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("the answer could not be read: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// Style colours text, and knows the width of the screen. If colours are off, it leaves the text unchanged.
type Style struct {
	on    bool
	width int
}

// Style returns the style for standard output.
func (s *Streams) Style() Style {
	if !s.outTerminal {
		return Style{}
	}
	return Style{on: s.colour, width: s.Width()}
}

// ErrStyle returns the style for standard error, which may be a file while standard output is a terminal.
func (s *Streams) ErrStyle() Style { return Style{on: s.colour && s.errTerminal} }

// Width returns the number of columns of the screen; 0 means that there is no limit, as in a file.
func (p Style) Width() int { return p.width }

func (p Style) paint(text string, attributes ...color.Attribute) string {
	if !p.on || text == "" {
		return text
	}
	c := color.New(attributes...)
	c.EnableColor() // The library decides by os.Stdout, which may differ from these streams.
	return c.Sprint(text)
}

// Good colours a success.
func (p Style) Good(text string) string { return p.paint(text, color.FgGreen) }

// Bad colours a problem that needs a person.
func (p Style) Bad(text string) string { return p.paint(text, color.FgRed, color.Bold) }

// Warn colours a problem that is being handled.
func (p Style) Warn(text string) string { return p.paint(text, color.FgYellow) }

// Busy colours an activity.
func (p Style) Busy(text string) string { return p.paint(text, color.FgCyan) }

// Faint fades minor text.
func (p Style) Faint(text string) string { return p.paint(text, color.Faint) }

// Bold emphasises important text.
func (p Style) Bold(text string) string { return p.paint(text, color.Bold) }

// State colours text with the colour of a state.
func (p Style) State(state core.State, text string) string {
	switch state {
	case core.Processed:
		return p.Good(text)
	case core.Error, core.Failed:
		return p.Bad(text)
	case core.Compensating, core.UndoWait, core.Compensated, core.Cancelled, core.Closed:
		return p.Warn(text)
	case core.Processing, core.Settling:
		return p.Busy(text)
	}
	return p.Faint(text)
}
