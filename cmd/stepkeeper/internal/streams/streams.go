// Package streams describes the terminal of a command: the streams, whether they are a terminal, its width,
// and its colours.
package streams

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// Streams holds the three streams of a command. The zero value is not usable; see System and Test.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	inTerminal, outTerminal, errTerminal bool
	colour                               bool
	width                                func() int
}

// System returns the streams of the process. Colours are on if standard output is a terminal, NO_COLOR is
// not set, and TERM is not "dumb" (https://no-color.org).
func System() *Streams {
	s := &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		inTerminal:  isTerminal(os.Stdin),
		outTerminal: isTerminal(os.Stdout),
		errTerminal: isTerminal(os.Stderr),
		width:       terminalWidth,
	}
	s.colour = s.outTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

func isTerminal(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}

func terminalWidth() int {
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		return w
	}
	return defaultWidth
}

const defaultWidth = 100

// Buffers holds the streams of a test.
type Buffers struct {
	In, Out, Err bytes.Buffer
}

// Test returns streams over buffers. With terminal they behave like a terminal, with colours.
func Test(terminal bool) (*Streams, *Buffers) {
	b := &Buffers{}
	return &Streams{
		In: &b.In, Out: &b.Out, Err: &locked{w: &b.Err},
		inTerminal: terminal, outTerminal: terminal, errTerminal: terminal, colour: terminal,
		width: func() int { return defaultWidth },
	}, b
}

// locked is a writer that several goroutines may use at once, as they may use a file.
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

// IsTerminal reports whether the output goes to a terminal.
func (s *Streams) IsTerminal() bool { return s.outTerminal }

// ErrIsTerminal reports whether messages go to a terminal, so that a progress bar makes sense.
func (s *Streams) ErrIsTerminal() bool { return s.errTerminal }

// Interactive reports whether a question can be asked and answered.
func (s *Streams) Interactive() bool { return s.inTerminal && s.errTerminal }

// Width returns the number of columns of a line.
func (s *Streams) Width() int { return s.width() }

// Confirm asks a question on standard error. Any answer except y or yes means no, and so does the end of the
// input.
func (s *Streams) Confirm(question string) (bool, error) {
	fmt.Fprintf(s.Err, "%s [y/N] ", question)
	line, err := bufio.NewReader(s.In).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("the answer could not be read: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
