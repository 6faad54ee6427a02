package sqlite_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func queueOf(t *testing.T, s *sqlite.Store, name string) port.Queue {
	t.Helper()
	q, err := s.Queues().Queue(name)
	require.NoError(t, err)
	return q
}

// flip changes one bit of the database file, in the only place where it contains text.
func flip(t *testing.T, folder, text string) {
	t.Helper()
	file := filepath.Join(folder, database)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(data, []byte(text)))
	data[bytes.Index(data, []byte(text))+len(text)-1] ^= 0x04
	write(t, file, data)
}

// A message with a changed bit goes to the quarantine, whatever its queue is. It is logged and in the health,
// and the other messages of the batch are delivered.
func TestAChangedMessageIsNotDelivered(t *testing.T) {
	for _, name := range []string{"status-shop", port.Dead(port.Replies), port.Quarantine} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			var log bytes.Buffer
			options := sqlite.Options{
				Queues: []sqlite.QueueConfig{{Name: port.Quarantine}},
				Log:    slog.New(slog.NewTextHandler(&log, nil)),
			}
			if name != port.Quarantine {
				options.Queues = append(options.Queues, sqlite.QueueConfig{Name: name})
			}
			s := open(t, folder, options)
			must(t, queueOf(t, s, name).Send(t.Context(), []port.Message{
				{Body: []byte(`{"id":"first"}`)},
				{Body: []byte(`{"id":"second"}`)},
				{Body: []byte(`{"id":"third"}`)},
			}))
			closed(t, s)
			flip(t, folder, `{"id":"second"`)

			s = open(t, folder, options)
			defer closed(t, s)
			require.Empty(t, s.DamagedMessages())
			var bodies []string
			for range 3 {
				got, err := queueOf(t, s, name).Receive(t.Context(), 1, 0, time.Minute)
				require.NoError(t, err)
				for _, d := range got {
					bodies = append(bodies, string(d.Body))
				}
			}
			require.Equal(t, []string{`{"id":"first"}`, `{"id":"third"}`}, bodies[:2])
			if name != port.Quarantine {
				require.Len(t, bodies, 2)
				got, err := queueOf(t, s, port.Quarantine).Receive(t.Context(), 10, 0, time.Minute)
				require.NoError(t, err)
				require.Len(t, got, 1)
				bodies = append(bodies, string(got[0].Body))
			}
			var kept message.Quarantined
			require.NoError(t, json.Unmarshal([]byte(bodies[2]), &kept))
			require.Equal(t, []string{name, "2"}, []string{kept.Queue, kept.ID})
			require.Contains(t, kept.Reason, "does not match its checksum")
			require.Contains(t, s.DamagedMessages(), "message 2 of queue "+name)
			require.Contains(t, log.String(), "messageId=2")
			require.NotContains(t, log.String(), "second")
			require.NoError(t, s.Probe())
			depth, err := queueOf(t, s, name).Depth(t.Context())
			require.NoError(t, err)
			require.Zero(t, depth.Visible)
		})
	}
}

// A value whose type was changed does not hinder the other messages.
func TestAChangedTypeInAMessageDoesNoHarm(t *testing.T) {
	for _, change := range []string{"body='text'", "sum='text'", "sent_at=x'00'"} {
		t.Run(change, func(t *testing.T) {
			folder := t.TempDir()
			options := sqlite.Options{Queues: []sqlite.QueueConfig{{Name: port.Quarantine}, {Name: "status"}}}
			s := open(t, folder, options)
			must(t, queueOf(t, s, "status").Send(t.Context(), []port.Message{{Body: []byte("{}")}, {Body: []byte("[]")}}))
			closed(t, s)
			run(t, folder, "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql=replace(sql, 'STRICT', '') "+
				"WHERE name='messages'; PRAGMA writable_schema=RESET; UPDATE messages SET "+change+" WHERE row=1")
			s = open(t, folder, options)
			defer closed(t, s)
			got, err := queueOf(t, s, "status").Receive(t.Context(), 10, 0, time.Minute)
			require.NoError(t, err)
			require.Len(t, got, 1)
			require.Equal(t, "[]", string(got[0].Body))
			require.Contains(t, s.DamagedMessages(), "message 1 of queue status")
		})
	}
}

// What was changed in the file is not read as something else, and nothing beside it is affected. After a changed entry
// of the ledger a plain service would be called twice.
func TestAChangeIsKnown(t *testing.T) {
	for name, x := range map[string]struct{ sql, changed string }{
		"as stored":                {"SELECT 1", ""},
		"another document":         {"UPDATE orders SET document=x'7b7d'", "document"},
		"a short checksum":         {"UPDATE orders SET sum=x'01'", "document"},
		"no checksum":              {"UPDATE orders SET sum=NULL", "document"},
		"another checksum":         {"UPDATE orders SET sum=CAST(x'00000000' || substr(sum, 5) AS BLOB)", "document"},
		"other content":            {"UPDATE contents SET content=x'5b5d'", "content"},
		"its checksum":             {"UPDATE contents SET sum=x'00000000'", "content"},
		"another state of a call":  {"UPDATE ledger SET state='failed'", "ledger"},
		"another attempt":          {"UPDATE ledger SET attempt=2", "ledger"},
		"another output of a call": {"UPDATE ledger SET output=x'32'", "ledger"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s := open(t, folder, sqlite.Options{})
			must(t, s.Commit(t.Context(), []port.Write{creation("o")}))
			e := port.LedgerEntry{Key: "o/0/mail", State: "started", Attempt: 1}
			require.NoError(t, s.Move(t.Context(), e))
			e.Version = 1
			e.State = "done"
			e.Output = []byte("1")
			require.NoError(t, s.Move(t.Context(), e))
			closed(t, s)
			run(t, folder, x.sql)
			s = open(t, folder, sqlite.Options{})
			defer closed(t, s)
			got, errs := s.Load(t.Context(), []string{"o"})
			require.NoError(t, errs[0])
			require.Equal(t, x.changed == "document", got[0].Damage != "")
			page, err := s.List(t.Context(), port.Query{Limit: 1})
			require.NoError(t, err)
			require.Equal(t, x.changed == "document", page.Records[0].Damage != "")
			_, err = s.Content(t.Context(), "o", "hash")
			require.Equal(t, x.changed == "content", errors.Is(err, core.ErrUnfit), "%v", err)
			_, err = s.Entry(t.Context(), "o/0/mail")
			require.Equal(t, x.changed == "ledger", errors.Is(err, sqlite.ErrDamaged), "%v", err)
		})
	}
}
