package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// Unread returns the error for a file that cannot be read. The parameter do is the advice. The
// parameter what describes the file.
func Unread(err error, do, what string) *failure.Error {
	var missing *fs.PathError
	if errors.Is(err, fs.ErrNotExist) && errors.As(err, &missing) {
		return failure.New(failure.NotFound, do, "the %s cannot be read: there is no file %s", what,
			missing.Path)
	}
	return failure.Wrap(err, failure.Usage, do, "the %s cannot be read", what)
}

// ReadJSON reads one JSON value from a file. The result is its shortest form, which has at most limit bytes.
// The file name "-" means standard input.
func (a *App) ReadJSON(file, what string, limit int64) (json.RawMessage, error) {
	in := a.Streams.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, Unread(err, "name a file with one JSON value", what)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, rawjson.MaxGrowth*limit+1))
	if err != nil {
		return nil, Unread(err, "name a file with one JSON value", what)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors write this mark
	if err := rawjson.Check(text, rawjson.MaxLevels); err != nil && int64(len(text)) <= rawjson.MaxGrowth*limit {
		return nil, failure.Wrap(err, failure.Usage, "write one JSON value, such as {\"amount\": 12}",
			"the %s cannot be used", what)
	}
	short, err := rawjson.Compact(text)
	if err != nil || int64(len(short)) > limit {
		return nil, failure.New(failure.Usage, "store large data elsewhere and give a reference",
			"the %s is larger than %d bytes", what, limit)
	}
	return short, nil
}
