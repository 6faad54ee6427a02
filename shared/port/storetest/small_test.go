package storetest_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// definitionCases checks that definitions are stored once, only under the hash of their bytes.
var definitionCases = need(hasDefinitions, []testCase{
	{name: "bytes of every form, once more, and under another hash", run: func(s *suite) {
		for _, data := range [][]byte{
			[]byte("{}"), document(70_000), document(350_000),
			[]byte("\xff\x00\x80"), []byte(`{"a":"'; --"}`), nil,
		} {
			hash := core.DefinitionHash(data)
			s.same(defines(hash), puts(hash, []byte(`{ "n": 1 }`)), defines(hash), puts(hash, data),
				puts(hash, data), defines(hash), puts(hash, []byte(`{ "n": 1 }`)), defines(hash))
		}
		named := core.DefinitionHash([]byte("{}"))
		for _, hash := range []string{
			"", named + "0", named[:31], strings.ToUpper(named),
			strings.Repeat("f", 64), "sha256:0a", "größe",
		} {
			s.same(puts(hash, []byte("{}")), defines(hash))
		}
		s.same(defines(named))
	}},
	{name: "the bytes are apart", run: func(s *suite) {
		data := []byte(`{"n":1}`)
		hash := core.DefinitionHash(data)
		s.answers(puts(hash, data), "success")
		data[0] = 'X'
		if got, err := s.Definitions.Definition(s.ctx, hash); err == nil {
			got[1] = 'X'
		}
		s.answers(defines(hash), "success "+text([]byte(`{"n":1}`)))
	}},
	{name: "many put the same at once", run: func(s *suite) {
		data := document(5000)
		require.Equal(s, races, s.together(func(int) operation {
			return puts(core.DefinitionHash(data), data)
		})["success"])
		s.answers(defines(core.DefinitionHash(document(5000))), "success "+text(document(5000)))
	}},
})

// leaseCases checks that a lease is held until its time, and that one of many callers gets it. Sequences tells that its
// owner can renew and shorten it.
var leaseCases = need(hasLeases, []testCase{
	{name: "free at the very time of its end, of no time, a clock behind", run: func(s *suite) {
		s.same(acquires("m", "a", at(0), time.Second), acquires("m", "b", at(1).Add(-time.Millisecond),
			time.Second), acquires("m", "b", at(1), time.Second), acquires("m", "b", at(1), 0),
			acquires("m", "a", at(1), time.Minute), acquires("m", "a", at(-50), time.Minute),
			acquires("m", "b", at(-50), time.Second), acquires("m", "a", at(-48), time.Minute))
	}},
	{name: "a clock that was ahead: held up to the largest skew, and free beyond it", run: func(s *suite) {
		skew := int(port.MaxLeaseSkew / time.Second)
		s.answers(acquires("l", "a", at(skew), time.Minute), "success true")
		s.answers(acquires("l", "b", at(0), time.Minute), "success false")
		s.answers(acquires("l", "b", at(-1), time.Minute), "success true")
		s.answers(acquires("m", "a", at(365*24*3600), time.Minute), "success true")
		s.answers(acquires("m", "b", at(0), time.Minute), "success true")
		s.answers(acquires("m", "c", at(1), time.Minute), "success false")
	}},
	{name: "names and owners of any form; a lease is no task", run: func(s *suite) {
		for _, name := range []string{
			"shard/0", "shard/00", "SHARD/0", strings.Repeat("n", 200), "größe",
			"a",
		} {
			s.same(acquires(name, name+"'s owner", at(0), time.Minute),
				acquires(name, "another", at(1), time.Minute))
		}
		s.settled("a")
		s.commit(write("a", 0))
		s.same(acquires("a", "another", at(1), time.Minute))
		s.settled("a")
	}},
	{name: "one of many gets it", run: func(s *suite) {
		for round := range 10 {
			got := s.together(func(i int) operation {
				return acquires("l", fmt.Sprint("owner-", i), at(round*60), 30*time.Second)
			})
			require.Equal(s, 1, got["success true"], "%+v", round)
			require.Equal(s, races-1, got["success false"], "%+v", round)
		}
	}},
})

// ledgerCases checks that a move is accepted only from the current version (P31, a plain service needs a
// ledger).
var ledgerCases = need(hasLedger, []testCase{
	{name: "keys, text and outputs of every form; nothing of the entry before is left", run: func(s *suite) {
		for _, key := range []string{
			"a/0/charge", "a/00/charge", strings.Repeat("k", 200), "a b'c\"d",
			"größe/日本", "#lease/1",
		} {
			version := int64(0)
			for _, e := range []port.LedgerEntry{
				{State: "started", Attempt: 1},
				{
					State: "done", Attempt: 3, Command: 2,
					Output: document(5000), Code: "http-402", Message: "no\x01 money, 'sorry'",
				},
				{State: "none"},
				{
					State: "failed", Code: "größe", Message: "\x00\n'\"日本",
					Output: []byte("\xff\x00\x80"),
				},
				{State: "fenced", Output: []byte{}},
			} {
				e.Key = key
				e.Version = version
				s.same(entries(key), moves(e), entries(key), moves(e), entries(key+"x"))
				version++
			}
		}
		for _, size := range []int{2, 1025, 65_536, 300_000} {
			key := fmt.Sprint(size)
			s.same(moves(port.LedgerEntry{Key: key, State: "done", Output: document(size)}), entries(key))
		}
	}},
	{name: "the bytes are apart", run: func(s *suite) {
		output := []byte(`{"n":1}`)
		s.same(moves(port.LedgerEntry{Key: "k", Output: []byte(`{"n":1}`)}))
		s.answers(moves(port.LedgerEntry{Key: "k", Output: output, Version: 1}), "success")
		_ = s.model.Ledger.Move(s.ctx, port.LedgerEntry{Key: "k", Output: []byte(`{"n":1}`), Version: 1})
		output[0] = 'X'
		if e, err := s.Ledger.Entry(s.ctx, "k"); err == nil {
			e.Output[1] = 'X'
		}
		s.same(entries("k"))
	}},
	{name: "one of many starts the call", run: func(s *suite) {
		for round := range 10 {
			got := s.together(func(i int) operation {
				return moves(port.LedgerEntry{Key: fmt.Sprint("k", round), State: "started", Attempt: i})
			})
			require.Equal(s, 1, got["success"], "%+v", round)
			require.Equal(s, races-1, got[class(port.ErrConflict)], "%+v", round)
		}
	}},
})
