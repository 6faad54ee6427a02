package storetest_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// script is a case of batches, carried out one after the other: after each, everything is as in the model.
func script(name string, batches ...[]port.Write) testCase {
	ids := idsOf(batches)
	return testCase{name: name, run: func(s *suite) {
		for _, batch := range batches {
			s.commit(batch...)
			s.settled(ids...)
		}
	}}
}

func batch(writes ...port.Write) []port.Write { return writes }

// createCases checks that IDs of every form are stored unchanged. Sequences tells that the first record stays, whatever
// is created second (P14, submit creates once; P17, a cancel is kept; P26, an ID never runs twice).
func createCases() []testCase {
	var cases []testCase
	for _, c := range []struct{ name, id, other string }{
		{"128 characters", strings.Repeat("x", 128), strings.Repeat("x", 127)},
		{"only signs", "._:-", "._:"},
		{"a number", "0001", "1"},
		{"a long number", "9007199254740993", "9007199254740992"},
		{"scientific", "1e3", "1000"},
		{"a path", "..", "."},
		{"colons like a composed key", "task:1:lease", "task:1"},
		{"upper and lower case differ", "Order-A", "order-a"},
		{"null in words", "null", "NULL"},
		{"leading dash", "--help", "-help"},
	} {
		cases = append(cases, script("strange ID: "+c.name, batch(write(c.id, 0), write(c.other, 0)),
			batch(write(c.id, 1))))
	}
	return append(cases, need(hasForget, []testCase{
		{name: "an order whose record has expired exists (P26), and is in no index", run: func(s *suite) {
			for _, change := range []func(*port.Write){func(*port.Write) {}, inline, tombstone} {
				id := fmt.Sprint("a", len(s.rows()))
				s.commit(write(id, 0, change), write("b"+id, 0))
				s.commit(write(id, 1, finished), write("b"+id, 1))
				s.same(forgets(id, "unknown"))
				s.settled(id, "b"+id)
				s.commit(write(id, 0))
				s.commit(write(id, 1))
				s.commit(write(id, 2))
				s.settled(id, "b"+id)
			}
		}},
	})...)
}

// badWrite is a write that a Store refuses.
type badWrite struct {
	name  string
	write port.Write
}

func badWrites() []badWrite {
	bad := []badWrite{
		{"too large", write("bad", 0, holding(document(port.MaxDocument+1)))},
		{"too large a replacement", write("there", 1, holding(document(2*port.MaxDocument)))},
		{"too large an order", write("bad", 0, apart(document(port.MaxOrder+1)))},
		{"a create that exists", write("there", 0)},
		{"a replace on another version", write("there", 3)},
		{"a replace of nothing", write("bad", 1)},
		{"an empty ID", write("", 0)},
		{"a content without its hash", write("bad", 0, func(w *port.Write) { w.Hash = "" })},
		{"a content that is missing", write("bad", 0, func(w *port.Write) { w.Content = nil })},
		{"a content that changes", write("there", 1, apart([]byte("1")))},
	}
	for _, version := range []int64{-1, 0, 2, 7} {
		bad = append(bad, badWrite{
			fmt.Sprintf("a create of version %d", version),
			write("bad", 0, func(w *port.Write) { w.Record.Version = version }),
		})
	}
	for _, version := range []int64{0, 1, 3, 100} {
		bad = append(bad, badWrite{
			fmt.Sprintf("a replace to version %d", version),
			write("there", 1, func(w *port.Write) { w.Record.Version = version }),
		})
	}
	return append(bad, badWrite{
		"a negative expected version",
		write("bad", 0, func(w *port.Write) {
			w.Expected = -1
			w.Record.Version = 0
		}),
	})
}

// batchCases checks that each write of a batch succeeds or fails on its own, at its index.
func batchCases() []testCase {
	bad := badWrites()
	var cases []testCase
	for n, b := range bad {
		writes := batch(write("a", 0), write("b", 0), write("c", 1), write("d", 0))
		cases = append(cases, script(b.name+" in a batch", batch(write("there", 0), write("c", 0)),
			slices.Insert(writes, []int{0, 2, 4}[n%3], b.write), batch(write("there", 1))))
	}
	all := make([]port.Write, 0, len(bad))
	var many, further []port.Write
	for _, b := range bad {
		all = append(all, b.write)
	}
	for i := range 150 {
		many = append(many, write(fmt.Sprint("task-", i), 0))
		further = append(further, write(fmt.Sprint("task-", i), int64(1+i%2)))
	}
	return append(cases, script("all fail", batch(write("there", 0)), all),
		script("hundreds of writes", many, further),
		script("no writes", nil), testCase{name: "two writes for one version: one wins", run: func(s *suite) {
			s.commit(write("b", 0))
			for _, pair := range [][]port.Write{
				{write("a", 0, holding([]byte("1"))), write("a", 0, holding([]byte("2")))},
				{write("b", 1, holding([]byte("1"))), write("b", 1, holding([]byte("2")))},
			} {
				winner := pair[0]
				refused := []error{port.ErrExists, port.ErrConflict}[pair[0].Expected]
				errs := s.Store.Commit(s.ctx, pair)
				if errs[0] != nil {
					errs[0], errs[1], winner = errs[1], errs[0], pair[1]
				}
				require.NoError(s, errs[0])
				require.Equal(s, class(refused), class(errs[1]))
				s.holds(winner.Record)
			}
		}})
}

// strangeDocuments are documents that a Store must keep, whatever is in them.
var strangeDocuments = []string{
	`{"Version":7,"OrderID":"b","bucket":"due#0","dueAt":"x","row":1,"#n":1,"a.b":3,"":5,"$.x":6,"x":1,"x":2}`,
	` { "n":	[0,-0,1.0,1E+400,123456789012345678901234567890] ,` + "\n" + ` "t":["\u00e9","\u0000","\/","' OR 1=1 --"]} `,
	"not even text or JSON \xff\xfe\x00\x01\x80 '; -- {",
}

// keptCases checks that a Store returns every field unchanged, and every document byte for byte, including
// documents of newer code.
func keptCases() []testCase {
	var cases []testCase
	kept := func(name string, change func(*port.Write)) {
		replaced := func(w *port.Write) { change(w); w.Content = nil }
		cases = append(cases, script("kept: "+name, batch(write("a", 0, change)),
			batch(write("a", 1, replaced, holding([]byte("{}")))), batch(write("a", 2, replaced))))
	}
	for _, text := range strangeDocuments {
		kept(fmt.Sprintf("%.9q", text), holding([]byte(text)))
	}
	for _, size := range []int{
		2, 1023, 1024, 1025, 4095, 4096, 4097, 65_536, 262_145, port.MaxDocument - 1,
		port.MaxDocument,
	} {
		kept(fmt.Sprintf("a document of %d bytes", size), holding(document(size)))
	}
	for _, size := range []int{2, 1024, 4096, port.MaxOrder - 1, port.MaxOrder} {
		kept(fmt.Sprintf("an order of %d bytes", size), apart(document(size)))
	}
	for _, state := range []string{"Pending", "Processed", "Error", "Compensating", "a state of later code"} {
		kept("state "+state, func(w *port.Write) { w.Record.State = state })
	}
	for _, workflow := range []string{
		"w", strings.Repeat("w", 40), "with space", "größe-日本",
		"'; DROP TABLE tasks; --",
	} {
		kept("workflow "+workflow, func(w *port.Write) { w.Record.Workflow = workflow })
	}
	for name, t := range map[string]time.Time{
		"at the beginning of time": time.Unix(0, 1e6), "before the epoch": time.Date(1969, 12, 31, 23, 59, 59,
			999e6, time.UTC),
		"far away": far, "a leap day": time.Date(2028, 2, 29, 0, 0, 0, 1e6, time.UTC),
		"of another zone": time.Date(2026, 11, 21, 1, 2, 3, 4e6, time.FixedZone("there", -5*3600)),
	} {
		kept("created: "+name, created(t))
		kept("due: "+name, in(port.DueBucket, t))
	}
	largest := make([]port.Write, 5)
	for i := range largest {
		largest[i] = write(fmt.Sprint("task-", i), 0, holding(document(port.MaxDocument)))
	}
	return append(cases, script("a batch of the largest documents", largest),
		testCase{name: "bytes are apart from the caller's and a reader's", run: func(s *suite) {
			w := write("a", 0)
			want := write("a", 0)
			s.answers(commits(w), "success")
			w.Record.Document[0] = 'X'
			w.Content[0] = 'X'
			records, _ := s.Store.Load(s.ctx, []string{"a"})
			content, _ := s.Store.Content(s.ctx, "a", want.Hash)
			require.NotNil(s, records[0], "%v, %s", records, content)
			require.NotEmpty(s, content)
			records[0].Document[1] = 'X'
			content[1] = 'X'
			if page, _ := s.Store.List(s.ctx, port.Query{Limit: 1}); len(page.Records) == 1 {
				page.Records[0].Document[2] = 'X'
			}
			s.holds(want.Record)
			content, err := s.Store.Content(s.ctx, "a", want.Hash)
			require.NoError(s, err)
			require.Equal(s, string(want.Content), string(content))
		}})
}

// eraseCases checks that an erasure removes the content for good, and nothing else (P52, erase removes
// content, not identity).
var eraseCases = []testCase{
	{
		name: "content goes, the record stays, and a create that comes late does not bring it back",
		run: func(s *suite) {
			w := write("a", 0, apart([]byte(`{"of":"a person"}`)))
			s.answers(commits(w), "success")
			none := func(when string) {
				s.Helper()
				_, err := s.Store.Content(s.ctx, "a", w.Hash)
				require.ErrorIs(s, err, port.ErrNotFound)
			}
			for _, when := range []string{"erased", "erased again"} {
				require.NoError(s, s.Store.Erase(s.ctx, "a", w.Hash), when)
				none(when)
			}
			s.holds(w.Record)
			s.answers(commits(w), "already exists")
			none("after a create that came late")
			next := write("a", 1)
			s.answers(commits(next), "success")
			none("after a commit")
			s.holds(next.Record)
		},
	},
	{name: "another hash, and an order that is not there, change nothing", run: func(s *suite) {
		w := write("a", 0, apart([]byte(`{}`)))
		s.answers(commits(w), "success")
		for _, of := range [][2]string{{"a", "of-nothing"}, {"b", w.Hash}} {
			require.NoError(s, s.Store.Erase(s.ctx, of[0], of[1]), "%+v", of)
		}
		content, err := s.Store.Content(s.ctx, "a", w.Hash)
		require.NoError(s, err)
		require.Equal(s, `{}`, string(content))
		b := write("b", 0, apart([]byte(`{}`)))
		s.answers(commits(b), "success")
		content, err = s.Store.Content(s.ctx, "b", b.Hash)
		require.NoError(s, err)
		require.Equal(s, `{}`, string(content))
	}},
}

// dueCases checks where a page of the index begins and ends (P9, tasks not at rest are due; P11, an end is reported
// until settled). Sequences moves tasks from every bucket to every other, to later and earlier times.
var dueCases = []testCase{
	{
		name: "pages begin after an entry, end before a time, and hold what was asked for",
		run: func(s *suite) {
			var ids []string // six of one shard: two at 1 s, two at 2 s, two at 3 s
			for i := 0; len(ids) < 6; i++ {
				if id := fmt.Sprintf("task-%05d", i); port.ShardOf(id, s.Store.Shards()) == 0 {
					ids = append(ids, id)
				}
			}
			for i := range slices.Backward(ids) {
				s.commit(write(ids[i], 0, in(port.DueBucket, at(i/2+1))))
			}
			for _, before := range []time.Time{at(0), at(2).Add(-time.Millisecond), at(2), at(3), far} {
				for _, limit := range []int{0, 1, 3, 4, 6, 10} {
					s.soon(readsPage(before, nil, limit))
					for _, after := range []port.Due{
						{ID: ids[2], At: at(2)},
						{ID: ids[3], At: at(2)},
						{ID: ids[5], At: at(3)},
						{ID: "x", At: at(2).Add(time.Millisecond)},
						{ID: "0", At: at(2)},
					} {
						s.soon(readsPage(before, &after, limit))
					}
				}
			}
			after := port.Due{ID: ids[2], At: at(2)}
			s.commit(write(ids[2], 1, finished)) // it has gone, and the next page begins after it
			s.soon(readsPage(far, &after, 10))
		},
	},
}

// placeCases moves index entries without a commit (P60, a damaged order is set aside): nothing else of the
// record changes, also if its document is no JSON, and a commit on its version still succeeds.
func placeCases() []testCase {
	broken := holding([]byte(`{"n":"\xff`))
	cases := []testCase{{name: "of an unknown task, and on another version", run: func(s *suite) {
		s.commit(write("a", 0), write("b", 0))
		s.commit(write("b", 1, finished))
		s.same(places("unknown", 1, port.DamagedBucket, at(1)), places("a", 0, port.DamagedBucket, at(1)),
			places("a", 2, port.DamagedBucket, at(1)), places("b", 1, port.DamagedBucket, at(1)))
		s.settled("a", "b")
	}}}
	for from, before := range map[string]func(*port.Write){
		"due":       in(port.DueBucket, at(50)),
		"attention": in(port.AttentionBucket, at(50)), "rest": finished,
	} {
		cases = append(cases, testCase{name: "from " + from + " to damaged and back", run: func(s *suite) {
			s.commit(write("a", 0, broken, before), write("other", 0, broken))
			for i, to := range []port.Bucket{
				port.DamagedBucket, port.DamagedBucket, port.DueBucket,
				port.NoBucket, port.DamagedBucket,
			} {
				s.same(places("a", 1, to, at(i)))
				s.settled("a", "other")
				s.soon(lists(port.Query{Damaged: true}, 100, true),
					lists(port.Query{Damaged: true, State: "Error"}, 100, true))
			}
			s.commit(write("a", 0))
			s.commit(write("a", 1))
			s.commit(write("a", 2, finished))
			s.settled("a", "other")
		}})
	}
	return cases
}

// samples are tasks of several states, workflows and times, newest last, created in another order.
func samples(s *suite) {
	for _, i := range []int{3, 0, 5, 1, 4, 2} {
		state := []string{
			"Processing", "Error", "Processing", "Compensating", "Processing",
			"Error",
		}[i]
		workflow := []string{"order", "order", "provision"}[i%3]
		s.commit(write(string(rune('a'+i)), 0, created(at(i)),
			func(w *port.Write) {
				w.Record.State = state
				w.Record.Workflow = workflow
			}))
	}
}

func listsAll(s *suite, queries ...port.Query) {
	s.Helper()
	for _, q := range queries {
		for _, size := range []int{1, 6, 100} {
			s.soon(lists(q, size, false))
		}
		q.Partial = true // so few records are complete
		s.soon(lists(q, 3, false))
	}
}

var listCases = []testCase{
	{name: "an empty store", run: func(s *suite) { listsAll(s, port.Query{}) }},
	{name: "by state, workflow and time, newest first", run: func(s *suite) {
		samples(s)
		queries := []port.Query{{State: "x' OR '1'='1"}, {Workflow: "%"}, {Workflow: "unknown"}}
		for _, state := range []string{"", "Processing", "Error"} {
			for _, workflow := range []string{"", "order"} {
				for _, between := range [][2]time.Time{
					{},
					{at(3)},
					{{}, at(3)},
					{at(1), at(4)},
					{at(4), at(1)},
					{at(1), at(5)},
				} {
					queries = append(queries, port.Query{
						State: state, Workflow: workflow, After: between[0],
						Before: between[1],
					})
				}
			}
		}
		if !s.options.ListsFinished {
			queries = queries[1:] // A query for a final state is an error there.
		}
		listsAll(s, queries...)
	}},
	{name: "the oldest", run: func(s *suite) {
		samples(s)
		for _, q := range []port.Query{
			{State: "Processing"},
			{State: "Processing", Workflow: "order"},
			{State: "Processing", After: at(2)},
			{State: "Error"},
			{State: "Processing", Workflow: "unknown"},
			{State: "Processing", Before: at(0)},
		} {
			q.Oldest = true
			listsAll(s, q)
		}
	}},
	{name: "each state, finished and open in one listing", needs: listsFinished, run: func(s *suite) {
		states := []string{
			"Pending", "Processing", "Compensating", "Error", "Processed", "Compensated",
			"Cancelled",
		}
		queries := []port.Query{{}, {Workflow: "order", State: "Processed"}}
		for i, state := range states {
			places := []func(*port.Write){in(port.DueBucket, at(5)), in(port.AttentionBucket, at(5)), finished}
			if i < 4 { // a task in one of these states is not at rest
				places = places[:2]
			}
			for j, place := range places {
				s.commit(write(fmt.Sprint(i, j), 0, place, created(at(3*i+j)),
					func(w *port.Write) { w.Record.State = state }))
			}
			queries = append(queries, port.Query{State: state},
				port.Query{State: state, After: at(3 * i), Before: at(3*i + 2)})
		}
		s.commit(write("32", 1, created(at(11)))) // opened again
		listsAll(s, queries...)
	}},
	{
		name: "a forgotten task is not listed", needs: hasForget,
		run: func(s *suite) {
			samples(s)
			s.same(forgets("d"))
			listsAll(s, port.Query{})
		},
	},
	{name: "many of one millisecond, each once", run: func(s *suite) {
		for i := range 25 {
			s.commit(write(fmt.Sprintf("task-%02d", i), 0))
		}
		for _, size := range []int{1, 4, 24, 25, 26} {
			s.soon(lists(port.Query{}, size, true))
		}
	}},
	{name: "pages stay where they are while tasks arrive", run: func(s *suite) {
		samples(s)
		listsAll(s, port.Query{})
		q := port.Query{Limit: 2}
		got := ""
		for n := 0; n == 0 || q.Cursor != ""; n++ {
			page, err := s.Store.List(s.ctx, q)
			require.NoError(s, err)
			for _, r := range page.Records {
				got += r.ID
			}
			q.Cursor = page.Next
			s.commit(write(fmt.Sprint("new-", n), 0, created(at(100+n))))
		}
		require.Equal(s, "fedcba", got)
	}},
	{name: "a strange limit or cursor is refused", run: func(s *suite) {
		samples(s)
		for _, q := range []port.Query{
			{Limit: -1},
			{Limit: 0},
			{Limit: 1001},
			{Limit: 5, Cursor: "!"},
			{Limit: 5, Cursor: "' OR 1=1 --"},
			{Limit: 5, Cursor: "\x00"},
			{Limit: 5, Cursor: "...."},
			{Limit: 5, Cursor: "99999999999999999999999999.1"},
		} {
			_, err := s.Store.List(s.ctx, q)
			require.Error(s, err, "%+v", q)
		}
	}},
}

// need gives every case that has none a condition.
func need(condition func(*suite) bool, cases []testCase) []testCase {
	for i := range cases {
		if cases[i].needs == nil {
			cases[i].needs = condition
		}
	}
	return cases
}
