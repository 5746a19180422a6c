package keypath

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	pgp "fettle/host/format/openpgp"
)

// claimed is a signature packet that says so of itself, and verifies with no key.
type claimed struct {
	issuer          uint64
	created         time.Time
	lasts           time.Duration
	kind            pgp.SigType
	hash            pgp.Hash
	version3, wrong bool
}

func (c claimed) packet() []byte {
	kind, hash := c.kind, c.hash
	if kind == 0 {
		kind = pgp.CertPositive
	}
	if hash == 0 {
		hash = 8
	}
	when := binary.BigEndian.AppendUint32(nil, uint32(c.created.Unix()))
	if c.version3 {
		body := append([]byte{3, 5, byte(kind)}, when...)
		body = binary.BigEndian.AppendUint64(body, c.issuer)
		return framedBytes(pgp.TagSignature, append(body, 1, byte(hash), 0, 0, 0, 8, 0xff))
	}
	p := forgery(c.issuer, uint32(c.created.Unix()))
	body := p[2:]
	body[1], body[3] = byte(kind), byte(hash)
	if c.lasts > 0 {
		more := binary.BigEndian.AppendUint32([]byte{5, 3}, uint32(c.lasts/time.Second))
		binary.BigEndian.PutUint16(body[4:], binary.BigEndian.Uint16(body[4:])+uint16(len(more)))
		body = slices.Insert(body, 6, more...)
	}
	if c.wrong {
		body[4] = 0xff // subpackets that are longer than the signature
	}
	return framedBytes(pgp.TagSignature, body)
}

func framedBytes(tag byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0xc0 | tag, 255}, uint32(len(body))), body...)
}

func keyID(e *openpgp.Entity) uint64 { return pgp.Fingerprint(e.PrimaryKey.Fingerprint).ID() }

// split parts a key before its user id and before its subkey.
func split(t testing.TB, e *openpgp.Entity) (key, name, subkey []byte) {
	t.Helper()
	b := bytesOf(t, e)
	var at, sub int64
	for r := pgp.NewReader(bytes.NewReader(b), 0); sub == 0; {
		p, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case p.Tag == pgp.TagUserID && at == 0:
			at = p.Start
		case p.Tag == pgp.TagPublicSubkey:
			sub = p.Start
		}
	}
	return b[:at], b[at:sub], b[sub:]
}

func found(t testing.TB, w *Web, text string) Key {
	t.Helper()
	hits := w.Find(text)
	if len(hits) != 1 {
		t.Fatalf("%q finds the keys %v, want one", text, hits)
	}
	return hits[0]
}

func shown(p Path) (out []string) {
	for _, h := range p {
		out = append(out, fmt.Sprint(h.From, ">", h.To))
	}
	return out
}

// TestWebsAgainstMatrices: of small webs in which not every signature and key counts, plain and slow ways to count give the same.
func TestWebsAgainstMatrices(t *testing.T) {
	const far = 1000
	r := rand.New(rand.NewPCG(11, 7))
	ctx := context.Background()
	for range 150 {
		n := 3 + r.IntN(6)
		var arcs [][2]int
		for range r.IntN(n * 3) {
			if a, b := r.IntN(n), r.IntN(n); a != b && !slices.Contains(arcs, [2]int{a, b}) {
				arcs = append(arcs, [2]int{a, b})
			}
		}
		w := graph(t, n, arcs)
		price := map[[2]int]int{} // 1: the signature does not count
		live, counting := n, 0
		dead := r.IntN(2*n + 2)
		if dead < n {
			w.keys[Key(dead)].Against = "is dead"
			live--
		}
		var valid [][2]int
		for k := range Key(n) {
			for e, s := range w.signers(k) {
				a := [2]int{int(s), int(k)}
				if a[0] == dead || a[1] == dead || r.IntN(4) == 0 || a[1] < a[0] && r.IntN(2) == 0 {
					w.hops[e].Against, price[a] = []string{"no"}, 1
				} else {
					valid = append(valid, a)
					counting++
				}
			}
		}
		reach, cost := distances(n, valid, nil), distances(n, arcs, price)
		from, to := Key(r.IntN(n)), Key(r.IntN(n))

		ahead, behind := 0, 0
		for k := range n {
			if Key(k) != from && reach[from][k] < far {
				ahead++
			}
			if Key(k) != to && reach[k][to] < far {
				behind++
			}
		}
		if f, b := w.Reach([]Key{from}, to); f != ahead || b != behind {
			t.Fatalf("%d reaches %d keys and %d is reached by %d, want %d and %d: %v", from, f, to, b, ahead, behind, valid)
		}
		for rings := range 4 {
			around := w.Around([]Key{to}, rings)
			want, last := 0, 0
			for k := range n {
				if reach[k][to] < rings || Key(k) == to && rings > 0 {
					want++
				}
			}
			for _, k := range around {
				d := reach[k][to]
				if k == to {
					d = 0
				}
				if d < last || d >= rings {
					t.Fatalf("%d rings around %d are %v: %v", rings, to, around, valid)
				}
				last = d
			}
			if len(around) != want {
				t.Fatalf("%d rings around %d are %v, want %d keys: %v", rings, to, around, want, valid)
			}
		}
		if from != to {
			p, err := w.WhyNot(ctx, Query{Roots: []Root{{Key: from}}, To: to})
			bad := 0
			for i, h := range p {
				if i > 0 && h.From != p[i-1].To || !slices.Contains(arcs, [2]int{int(h.From), int(h.To)}) {
					t.Fatalf("a path with a gap: %v of %v", shown(p), arcs)
				}
				bad += price[[2]int{int(h.From), int(h.To)}]
			}
			if err != nil || (p == nil) != (cost[from][to] >= far) ||
				p != nil && (bad != cost[from][to] || p[0].From != from || p[len(p)-1].To != to) {
				t.Fatalf("why not %d to %d: %v (%v) with %d that do not count, want %d: %v", from, to, shown(p), err, bad, cost[from][to], arcs)
			}
		}
		sets := components(n, reach)
		s, err := w.Stats(ctx, true, func(int64, int64) {})
		if err != nil || s.Keys != n || s.Live != live || s.Signed != counting || s.Strong != len(sets[0]) || s.Sampled != s.Strong {
			t.Fatalf("%+v (%v): of %d keys %d live, %d signatures count, and %d are joined: %v", s, err, n, live, counting, len(sets[0]), valid)
		}
		if len(sets) > 1 && len(sets[1]) == len(sets[0]) {
			continue // either will do
		}
		sum, pairs, longest := 0, 0, 0
		for _, a := range sets[0] {
			for _, b := range sets[0] {
				if a != b {
					sum, pairs, longest = sum+reach[a][b], pairs+1, max(longest, reach[a][b])
				}
			}
		}
		if mean := float64(sum) / float64(max(pairs, 1)); s.MeanDistance != mean || s.Longest != longest {
			t.Fatalf("%+v: the mean distance is %v, the longest %d: %v", s, mean, longest, valid)
		}
	}
}

// distances between all keys, by Floyd and Warshall's method; without prices hops are counted. 1000: there is no way.
func distances(n int, arcs [][2]int, price map[[2]int]int) [][]int {
	d := make([][]int, n)
	for i := range d {
		d[i] = slices.Repeat([]int{1000}, n)
	}
	for _, a := range arcs {
		d[a[0]][a[1]] = 1
		if price != nil {
			d[a[0]][a[1]] = price[a]
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	return d
}

// components are sets of keys that all reach each other, large ones first.
func components(n int, reach [][]int) (out [][]int) {
	in := map[int]bool{}
	for a := range n {
		if in[a] {
			continue
		}
		var set []int
		for b := range n {
			if a == b || reach[a][b] < 1000 && reach[b][a] < 1000 {
				set = append(set, b)
				in[b] = true
			}
		}
		out = append(out, set)
	}
	slices.SortStableFunc(out, func(a, b []int) int { return len(b) - len(a) })
	return out
}

// TestDisjointPathsAreTheShortestSet: of all sets of as many paths none has less hops, whatever the keys' numbers.
func TestDisjointPathsAreTheShortestSet(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 23))
	for range 200 {
		n := 4 + r.IntN(4)
		var arcs [][2]int
		for range n + r.IntN(n*2) {
			if a, b := r.IntN(n), r.IntN(n); a != b && !slices.Contains(arcs, [2]int{a, b}) {
				arcs = append(arcs, [2]int{a, b})
			}
		}
		from, to := r.IntN(n), r.IntN(n)
		if from == to {
			continue
		}
		w := graph(t, n, arcs)
		var ways [][]int // the keys between, and the end
		var walk func(at int, way []int)
		walk = func(at int, way []int) {
			if at == to {
				ways = append(ways, slices.Clone(way))
				return
			}
			for _, a := range arcs {
				if a[0] == at && a[1] != from && !slices.Contains(way, a[1]) {
					walk(a[1], append(way, a[1]))
				}
			}
		}
		walk(from, nil)
		count, hops := 0, 0
		var choose func(i int, met []int, chosen, sum int)
		choose = func(i int, met []int, chosen, sum int) {
			if chosen > count || chosen == count && sum < hops {
				count, hops = chosen, sum
			}
			for ; i < len(ways); i++ {
				between := ways[i][:len(ways[i])-1]
				direct := len(between) == 0
				if !slices.ContainsFunc(between, func(k int) bool { return slices.Contains(met, k) }) {
					if direct && slices.Contains(met, -1) {
						continue
					}
					if direct {
						between = []int{-1}
					}
					choose(i+1, slices.Concat(met, between), chosen+1, sum+len(ways[i]))
				}
			}
		}
		choose(0, nil, 0, 0)
		q := Query{Roots: []Root{{Key: Key(from)}}, To: Key(to), MaxLength: DefaultMaxLength}
		paths, err := w.Disjoint(context.Background(), q, 100)
		sum := 0
		for _, p := range paths {
			sum += len(p)
		}
		if err != nil || len(paths) != count || sum != hops {
			t.Fatalf("%d to %d: %d paths of %d hops in sum (%v), want %d of %d: %v", from, to, len(paths), sum, err, count, hops, arcs)
		}
		if few, _ := w.Disjoint(context.Background(), q, 1); len(few) != min(count, 1) {
			t.Fatalf("%d paths, of at most one", len(few))
		}
	}
}

func TestStatsOfManyKeysAreASample(t *testing.T) {
	const n = 1100
	arcs := make([][2]int, n)
	for i := range arcs {
		arcs[i] = [2]int{i, (i + 1) % n}
	}
	w := graph(t, n, arcs)
	told := int64(-1)
	s, err := w.Stats(t.Context(), false, func(done, of int64) {
		if done != told+1 || of != n {
			t.Fatalf("told %d of %d after %d", done, of, told)
		}
		told = done
	})
	if err != nil || s.Strong != n || s.Sampled != statsSample || s.Longest != n-1 || s.MeanDistance != float64(n)/2 || s.Verified {
		t.Errorf("%+v %v", s, err)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if _, err := w.Stats(over, false, func(int64, int64) {}); err == nil {
		t.Error("statistics that nobody waits for any more")
	}
}

func TestFind(t *testing.T) {
	names := [][]string{
		{"Alice Adams <alice@example.org>"},
		{"Alice Adams <alice@example.org>"}, // dead
		{"Malice <malice@example.org>", "second <second@example.org>"},
		{"old <old@example.org>"}, // dead
		{"Zacharys"},
		{},
		{"deadbeef"},
	}
	for range maxListed - 1 {
		names = append(names, []string{"Twin"})
	}
	names = append(names, []string{"Twin"}, []string{"Twin 21"}) // both dead
	b := &builder{}
	for i, n := range names {
		fpr := binary.BigEndian.AppendUint64(append([]byte{0xab, 0xcd, 0xef}, make([]byte, 9)...), uint64(i+1)<<32|0x00c0ffee+uint64(i))
		b.keys = append(b.keys, keyFacts{key: pgp.Key{Fingerprint: pgp.Fingerprint(fpr), Created: made}, until: forever, names: n})
	}
	x, err := encode(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWeb(x, Policy{Now: now})
	for k := range Key(x.Keys) {
		w.keys[k] = &KeyState{}
	}
	last := Key(len(names) - 1)
	for _, k := range []Key{1, 3, last - 1, last} {
		w.keys[k].Against = "is dead"
	}
	for text, want := range map[string][]Key{
		"alice@example.org":               {0}, // not malice, and not the dead one
		"Alice":                           {0, 2},
		" ALICE adams <alice@EXAMPLE.org": {0},
		"alice adams <alice@example.org>": {0},
		"second@example.org":              {2},
		"old@example.org":                 {3}, // all that there is
		"zacharys":                        {4}, // as long as a key id
		"deadbeef":                        nil, // a key id, of no key
		"00c0ffef":                        {1}, // whether it is alive or not
		"0x00C0FFF0":                      {2},
		"0000000100c0ffee":                {0},
		"0000000200c0ffee":                nil,
		"ABCD EF00 0000 0000 0000  0000 0000 0003 00C0 FFF0": {2},
		"0xabcdef0000000000000000000000000300c0fff1":         nil,
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmn":           nil,
		"nobody": nil,
	} {
		if got := w.Find(text); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", text, got, want)
		}
	}
	if got := w.Find("twin"); len(got) != maxListed-1 {
		t.Errorf("of %d of a name the living are %v", maxListed, got)
	}
	if got := w.Find("win"); len(got) != maxListed+1 {
		t.Errorf("of more than are looked at %d are found, want all %d", len(got), maxListed+1)
	}
	if got := w.Title(2); got != "0000000300C0FFF0 Malice <malice@example.org>" {
		t.Errorf("title: %q", got)
	}
	if got := w.FirstName(5); got != "(no user id)" || w.Names(5) != nil {
		t.Errorf("of a key without a user id: %q", got)
	}
}

// keybox is a pubring.kbx with one keyblock, and an end that makes no sense.
func keybox(packets []byte) []byte {
	out := append([]byte{0, 0, 0, 32, 1, 1, 0, 2}, "KBXf"...)
	out = append(out, make([]byte, 20)...)
	out = binary.BigEndian.AppendUint32(out, uint32(16+len(packets)))
	out = append(out, 2, 1, 0, 0, 0, 0, 0, 16)
	out = binary.BigEndian.AppendUint32(out, uint32(len(packets)))
	return append(append(out, packets...), 0, 0, 0, 1, 2, 3, 4, 5, 6)
}

func armored(t *testing.T, packets []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, "PGP PUBLIC KEY BLOCK", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(packets)
	w.Close()
	return append(b.Bytes(), '\n')
}

// TestSources: what is a keyring, in each form, alone and in folders.
func TestSources(t *testing.T) {
	alice, bob := bytesOf(t, person(t, "alice", at(made))), bytesOf(t, person(t, "bob", at(made)))
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"ring/a.gpg":         alice,
		"ring/deep/b.kbx":    keybox(bob),
		"ring/c.asc":         append(armored(t, alice), armored(t, bob)...),
		"ring/broken.asc":    append(armored(t, bob), "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n!!!!\n"...),
		"ring/notes.txt":     []byte("no keys"),
		"ring/empty":         nil,
		"texts/notes.txt":    []byte("no keys"),
		"texts/more.txt":     []byte("neither"),
		"nothing/deeper/":    nil,
		"damaged/none.asc":   []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n!!!!\n"),
		"damaged/none.kbx":   append(keybox(nil)[:32], 0, 0, 0, 1, 2, 0, 0, 0),
		"sound/of-bob.kbx":   keybox(bob),
		"sound/of-alice.gpg": alice,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		paths []string
		keys  []string // each source's form, size aside, and keys
		err   string
	}{
		{"all of a folder", []string{"ring"},
			[]string{"a.gpg binary 1", "broken.asc ASCII-armored 1", "c.asc ASCII-armored 2", "b.kbx GnuPG keybox 1"}, ""},
		{"as they are named", []string{"ring/c.asc", "ring/a.gpg"}, []string{"c.asc ASCII-armored 2", "a.gpg binary 1"}, ""},
		{"a file and a folder", []string{"ring/a.gpg", "sound"},
			[]string{"a.gpg binary 1", "of-alice.gpg binary 1", "of-bob.kbx GnuPG keybox 1"}, ""},
		{"an empty file", []string{"ring/empty"}, []string{"empty empty 0"}, ""},
		{"nothing of that name", []string{"ring/a.gpg", "gone"}, nil, "keyring " + dir + "/gone: no such file or directory"},
		{"a text", []string{"ring/notes.txt"}, nil, dir + "/ring/notes.txt contains no OpenPGP public keys (expected what gpg --export writes"},
		{"a device", []string{"/dev/null"}, nil, "keyring /dev/null is not a regular file"},
		{"texts", []string{"texts"}, nil, "none of the 2 files in " + dir + "/texts contains OpenPGP public keys"},
		{"a folder of folders", []string{"nothing"}, nil, dir + "/nothing contains no files: expected OpenPGP public keys"},
		{"armor that is broken from the start", []string{"damaged/none.asc"}, nil, "keyring " + dir + "/damaged/none.asc: reading ASCII armor: "},
		{"a keybox that is broken from the start", []string{"damaged/none.kbx"}, nil, "keyring " + dir + "/damaged/none.kbx: "},
	} {
		paths := slices.Clone(c.paths)
		for i, p := range paths {
			if !filepath.IsAbs(p) {
				paths[i] = filepath.Join(dir, p)
			}
		}
		src, err := Sources(t.Context(), paths)
		var x *Index
		var told []int64
		if err == nil {
			x, err = Build(t.Context(), src, func(done, _ int64) { told = append(told, done) })
		}
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.name, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, s := range src {
			if st, err := os.Stat(s.Path); err != nil || st.Size() != s.Size || st.ModTime().UnixNano() != s.ModTime {
				t.Errorf("%s: %+v is of another size or time", c.name, s)
			}
			got = append(got, fmt.Sprintf("%s %s %d", filepath.Base(s.Path), s.Form, len(x.In(s.Path))))
		}
		if !slices.Equal(got, c.keys) {
			t.Errorf("%s: %q, want %q", c.name, got, c.keys)
		}
		if !slices.IsSorted(told) {
			t.Errorf("%s: progress goes back: %v", c.name, told)
		}
		w := NewWeb(x, Policy{Now: now})
		for k := range Key(x.Keys) {
			if s := w.State(k); !s.Live() {
				t.Errorf("%s: %s %s", c.name, w.Title(k), s.Against)
			}
		}
		w.Close()
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Sources(over, []string{filepath.Join(dir, "ring")}); err == nil {
		t.Error("a folder is read for nobody")
	}
	src, err := Sources(t.Context(), []string{filepath.Join(dir, "ring/a.gpg"), filepath.Join(dir, "sound/of-alice.gpg")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Build(over, src, func(int64, int64) {}); err == nil {
		t.Error("an index is made for nobody")
	}
	var told [][2]int64
	if _, err := Build(t.Context(), src, func(done, total int64) { told = append(told, [2]int64{done, total}) }); err != nil {
		t.Fatal(err)
	}
	n := int64(len(alice))
	if want := [][2]int64{{0, 2 * n}, {n, 2 * n}}; !slices.Equal(told, want) {
		t.Errorf("progress %v, want %v", told, want)
	}
}

// TestOneKeyAFile: a folder with more keys than may be open at a time.
func TestOneKeyAFile(t *testing.T) {
	dir := t.TempDir()
	for i := range maxOpen + 6 {
		b, _, _ := split(t, person(t, fmt.Sprint("p", i), at(made)))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := webOfFile(dir, Policy{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for k := range Key(w.Keys) {
		if s := w.State(k); !strings.HasPrefix(s.Against, "has no valid signature") || len(w.files) == 0 || len(w.files) > maxOpen {
			t.Fatalf("key %d %s; %d files are open", k, s.Against, len(w.files))
		}
	}
}

// TestTally: what was read, and what was not.
func TestTally(t *testing.T) {
	alice := person(t, "alice", at(made))
	key, name, subkey := split(t, alice)
	long := strings.Repeat("x", 300)
	ids := []string{"a\x1b[31m\x7f", "b\xff", "a\x1b[31m\x7f", long}
	for i := range 40 {
		ids = append(ids, fmt.Sprint("id ", i))
	}
	var more []byte
	for _, s := range ids {
		more = append(more, framedBytes(pgp.TagUserID, []byte(s))...)
	}
	w := webOf(t, Policy{Now: now},
		framedBytes(pgp.TagMarker, []byte("PGP")), framedBytes(pgp.TagUserID, []byte("of nobody")),
		key, name, more, claimed{issuer: 5, created: made, wrong: true}.packet(), subkey,
		framedBytes(pgp.TagPublicKey, []byte{3, 0, 0, 0, 0, 0, 0, 1, 0, 8, 1}),
		framedBytes(pgp.TagPublicKey, []byte{4, 1}), framedBytes(pgp.TagPublicKey, nil),
		claimed{issuer: 5, created: made}.packet(), // of no key
		[]byte("rubbish"), key, name,
	)
	if want := (Tally{Keys: 1, Signatures: 4, Malformed: 3, Skipped: 7, Old: 1}); w.Tally != want {
		t.Errorf("read: %+v, want %+v", w.Tally, want)
	}
	got := w.Names(0)
	want := []string{idOf("alice"), "a [31m ", "b?", long[:maxNameText], "id 0"}
	if len(got) != maxNames || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%d names, want %d, and first %q: %q", len(got), maxNames, want, got)
	}
}

// TestClaims: what a signature must say to count before anybody has verified it.
func TestClaims(t *testing.T) {
	alice, bob := person(t, "alice", at(made)), person(t, "bob", at(made))
	key, name, subkey := split(t, bob)
	id, when := keyID(alice), made.AddDate(1, 0, 0)
	good := claimed{issuer: id, created: when}.packet()
	year := 365 * 24 * time.Hour
	for _, c := range []struct {
		what               string
		onKey, onName, end []byte
		edges              int
		counts, sha1       bool
	}{
		{what: "nothing"},
		{what: "one", onName: good, edges: 1, counts: true, sha1: true},
		{what: "over the key", onKey: good},
		{what: "over a subkey", end: good},
		{what: "of another kind", onName: claimed{issuer: id, created: when, kind: pgp.SubkeyBinding}.packet()},
		{what: "of nobody", onName: claimed{created: when}.packet()},
		{what: "with SHA-1", onName: claimed{issuer: id, created: when, hash: pgp.SHA1}.packet(), edges: 1, sha1: true},
		{what: "with MD5", onName: claimed{issuer: id, created: when, hash: pgp.MD5}.packet(), edges: 1},
		{what: "of version 3", onName: claimed{issuer: id, created: when, version3: true}.packet(), edges: 1},
		{what: "expired", onName: claimed{issuer: id, created: when, lasts: year}.packet(), edges: 1},
		{what: "not expired", onName: claimed{issuer: id, created: when, lasts: 9 * year}.packet(), edges: 1, counts: true, sha1: true},
		{what: "SHA-1 later than SHA-256", edges: 1, sha1: true, onName: append(claimed{issuer: id, created: when, lasts: year}.packet(),
			claimed{issuer: id, created: when, lasts: 9 * year, hash: pgp.SHA1}.packet()...)},
		{what: "the longest counts", edges: 1, counts: true, sha1: true, onName: append(
			claimed{issuer: id, created: when, lasts: 9 * year}.packet(),
			claimed{issuer: id, created: when, lasts: year}.packet()...)},
		{what: "revoked, which is verified, and so is what it revokes", edges: 1,
			onName: append(slices.Clone(good), claimed{issuer: id, created: when, kind: pgp.CertRevocation}.packet()...)},
	} {
		for _, sha1 := range []bool{false, true} {
			w := webOf(t, Policy{Now: now, AllowSHA1: sha1}, bytesOf(t, alice), key, c.onKey, name, c.onName, subkey, c.end)
			to, edges, counts := found(t, w, "bob@example.org"), 0, false
			for e, s := range w.signers(to) {
				edges++
				counts = counts || w.counts(e, s, to)
			}
			if want := c.counts || sha1 && c.sha1; edges != c.edges || w.Edges != c.edges || counts != want {
				t.Errorf("%s, SHA-1 %v: %d claims, which count: %v; want %d and %v", c.what, sha1, edges, counts, c.edges, want)
			}
		}
	}
}

func TestClaimsOfSeveralKeyringsAreOne(t *testing.T) {
	in := []edge{{1, 2, 10, 0, false}, {1, 2, 7, 30, true}, {1, 2, 20, 4, false}, {1, 3, 5, 6, false}, {2, 3, 8, 9, false}}
	want := []edge{{1, 2, 20, 30, true}, {1, 3, 5, 6, false}, {2, 3, 8, 9, false}}
	if got := merge(in); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestLies: the first forged signatures are found out when a path leads over them; after those what else their signer is said to
// have signed counts only once it is verified. A way round them is found.
func TestLies(t *testing.T) {
	alice, bob := person(t, "alice", at(made)), person(t, "bob", at(made))
	sign(t, alice, bob, "bob", at(made.AddDate(1, 0, 0)))
	parts := [][]byte{bytesOf(t, alice), bytesOf(t, bob)}
	lie := claimed{issuer: keyID(alice), created: made.AddDate(1, 0, 0)}.packet()
	for i := range lieLimit + 2 {
		p := person(t, fmt.Sprint("p", i), at(made))
		if i < 2 {
			sign(t, bob, p, fmt.Sprint("p", i), at(made.AddDate(1, 0, 0)))
		}
		key, name, subkey := split(t, p)
		parts = append(parts, key, name, lie, subkey)
	}
	w := webOf(t, Policy{Now: now}, parts...)
	root := found(t, w, "alice@example.org")
	counts := func(i int) bool {
		to := found(t, w, fmt.Sprintf("p%d@example.org", i))
		for e, s := range w.signers(to) {
			if s == root {
				return w.counts(e, s, to)
			}
		}
		t.Fatal("the lie was not read")
		return false
	}
	q := Query{Roots: []Root{{Key: root}}, To: found(t, w, "p0@example.org"), MaxLength: 3}
	why, err := w.WhyNot(t.Context(), q)
	if err != nil || len(why) != 2 || !why[0].Valid() || !why[1].Valid() {
		t.Errorf("what claims lead to p0: %v (%v), want the way over bob", shown(why), err)
	}
	q.To = found(t, w, "p1@example.org")
	if paths, err := w.Disjoint(t.Context(), q, 5); err != nil || len(paths) != 1 || len(paths[0]) != 2 {
		t.Errorf("%d paths to p1 (%v), want the one over bob", len(paths), err)
	}
	for i := 2; i < lieLimit+2; i++ {
		if believed := counts(i); believed != (i <= lieLimit) {
			t.Errorf("after %d lies the next counts: %v", i, believed)
		}
		q.To = found(t, w, fmt.Sprintf("p%d@example.org", i))
		if p, err := w.Shortest(t.Context(), q); p != nil || err != nil {
			t.Errorf("a path over a lie: %v (%v)", shown(p), err)
		}
	}
}

func TestMissing(t *testing.T) {
	alice, bob := person(t, "alice", at(made)), person(t, "bob", at(made))
	key, name, subkey := split(t, bob)
	on := func(issuer uint64, years int) []byte {
		return claimed{issuer: issuer, created: made.AddDate(years, 0, 0)}.packet()
	}
	parts := [][]byte{bytesOf(t, alice), key, name}
	for _, s := range []struct {
		issuer uint64
		years  int
	}{{10, 1}, {11, 3}, {12, 2}, {10, 5}, {14, 2}, {13, 2}, {10, 2}, {keyID(alice), 1}, {keyID(bob), 1}, {0, 1}} {
		parts = append(parts, on(s.issuer, s.years))
	}
	parts = append(parts, claimed{issuer: 20, created: made, kind: pgp.CertRevocation}.packet(), subkey, on(21, 1))
	parts = append(parts, key, name, on(15, 4)) // the same in another keyring
	w := webOf(t, Policy{Now: now}, parts...)
	want := []uint64{10, 15, 11, 12, 13, 14}
	for _, most := range []int{0, 2, 6, 9} {
		got, err := w.Missing(found(t, w, "bob@example.org"), most)
		if err != nil || !slices.Equal(got, want[:min(most, len(want))]) {
			t.Errorf("at most %d: %v (%v), want %v", most, got, err, want)
		}
	}
}

// TestKeptIndex: an index is used again as long as the keyrings are what they were, and never if it is not whole.
func TestKeptIndex(t *testing.T) {
	alice, bob := person(t, "alice", at(made)), person(t, "bob", at(made))
	sign(t, alice, bob, "bob", at(made.AddDate(1, 0, 0)))
	dir := t.TempDir()
	ring, file := filepath.Join(dir, "ring"), filepath.Join(dir, "index")
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(ring, append(bytesOf(t, alice), bytesOf(t, bob)...))
	src, err := Sources(t.Context(), []string{ring})
	if err != nil {
		t.Fatal(err)
	}
	x, err := Build(t.Context(), src, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Save(file); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("who may read the index: %v %v", st.Mode(), err)
	}
	if err := x.Save(filepath.Join(dir, "no", "index")); err == nil || !strings.HasPrefix(err.Error(), "keeping the index: ") {
		t.Errorf("kept in a folder that is not there: %v", err)
	}
	kept, err := Load(file, src)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWeb(kept, Policy{Now: now})
	defer w.Close()
	q := Query{Roots: []Root{{Key: found(t, w, "alice@example.org")}}, To: found(t, w, "bob@example.org"), MaxLength: 3}
	p, err := w.Shortest(t.Context(), q)
	if err != nil || len(p) != 1 || kept.Tally != x.Tally {
		t.Errorf("a path in the kept index: %v (%v), of %+v", shown(p), err, kept.Tally)
	}
	changed := slices.Clone(src)
	changed[0].ModTime++
	raw, flipped := slices.Clone(x.raw), slices.Clone(x.raw)
	flipped[len(flipped)-9] ^= 1
	for _, c := range []struct {
		name string
		raw  []byte
		src  []Source
		want string
	}{
		{"of other keyrings", raw, changed, file + ": the keyrings have changed"},
		{"empty", nil, src, "reading the index: not an index"},
		{"of another version", []byte(strings.Replace(string(raw), "index 1", "index 2", 1)), src, file + ": not an index of this version"},
		{"a few bytes", raw[:len(magic)+7], src, file + ": not an index of this version"},
		{"cut off", raw[:len(raw)-1], src, file + ": the index is damaged"},
		{"with a bit that fell over", flipped, src, file + ": the index is damaged"},
	} {
		other := filepath.Join(dir, "other")
		write(other, c.raw)
		want := strings.Replace(c.want, file, other, 1)
		if _, err := Load(other, c.src); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", c.name, err, want)
		}
	}
	if _, err := Load(filepath.Join(dir, "gone"), src); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}

	// The keyring is another by the time that its keys are judged.
	write(ring, append(bytesOf(t, bob), bytesOf(t, alice)...))
	late := NewWeb(kept, Policy{Now: now})
	defer late.Close()
	if s := late.State(0); !strings.Contains(s.Against, "is no longer where its keyring had it: the keyring changed while it was read") {
		t.Errorf("in a keyring that has changed, the key %s", s.Against)
	}
	if err := os.Remove(ring); err != nil {
		t.Fatal(err)
	}
	late.Close()
	if s := late.State(1); s.Against != "keyring "+ring+": no such file or directory" {
		t.Errorf("in a keyring that is gone, the key %s", s.Against)
	}
	if _, err := late.Missing(1, 9); err == nil {
		t.Error("in a keyring that is gone nothing is missing")
	}
}

// TestBoundsOfACertificate: a flood of one signer's does not push out what others say.
func TestBoundsOfACertificate(t *testing.T) {
	alice, bob := person(t, "alice", at(made)), person(t, "bob", at(made))
	key, name, subkey := split(t, bob)
	var flood []byte
	lie := claimed{issuer: keyID(alice), created: made}.packet()
	own := claimed{issuer: keyID(bob), created: made}.packet()
	for range maxBySelf + 10 {
		flood = append(append(flood, lie...), own...)
	}
	photo := framedBytes(pgp.TagAttribute, []byte("photo"))
	w := webOf(t, Policy{Now: now}, bytesOf(t, alice), key, name, flood, photo, subkey, own)
	c, err := w.certificate(found(t, w, "bob@example.org"))
	if err != nil {
		t.Fatal(err)
	}
	by := len(c.names[0].by[keyID(alice)])
	if len(c.names) != 2 || c.names[1].text() != "(photo)" || c.names[0].text() != idOf("bob") ||
		len(c.names[0].self) != maxBySelf || by != maxByOther {
		t.Errorf("%d names, of the first %d signatures by itself and %d by alice", len(c.names), len(c.names[0].self), by)
	}
	if want := (maxBySelf + 10 - maxByOther) + 11; c.dropped != want {
		t.Errorf("%d were dropped, want %d", c.dropped, want)
	}
}

// TestEnds: the ends of keys, user ids and signatures, and lengths of keys.
func TestEnds(t *testing.T) {
	seconds := func(d time.Duration) *uint32 { s := uint32(d / time.Second); return &s }
	day := 24 * time.Hour
	signed := made.AddDate(1, 0, 0)
	lasting := packet.Config{KeyLifetimeSecs: *seconds(1000 * day)}
	short := packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 1024}
	for _, c := range []struct {
		what     string
		config   packet.Config // of bob's key
		lasts    time.Duration // alice's signature
		self     *uint32       // bob's own
		policy   Policy
		key, hop string
	}{
		{what: "a signature that lasts", lasts: 10 * day, policy: Policy{Now: signed.Add(10*day - time.Second)}},
		{what: "a signature that ends now", lasts: 10 * day, policy: Policy{Now: signed.Add(10 * day)},
			hop: `the signature over "bob <bob@example.org>" expired on 2021-01-11`},
		{what: "a key that lasts", config: lasting, policy: Policy{Now: made.Add(1000*day - time.Second)}},
		{what: "a key that ends now", config: lasting, policy: Policy{Now: made.Add(1000 * day)}, key: "expired on 2022-09-27"},
		{what: "a user id that ends", self: seconds(500 * day), policy: Policy{Now: made.Add(500 * day)},
			key: "has no valid signature by itself", hop: `the user id "bob <bob@example.org>" expired on 2021-05-15`},
		{what: "a short key", config: short, policy: Policy{Now: now}, key: "is short: 1024-bit RSA"},
		{what: "a short key that may be", config: short, policy: Policy{Now: now, AllowShort: true}},
	} {
		c.config.Time = func() time.Time { return made }
		if c.config.Algorithm == 0 {
			c.config.Algorithm = packet.PubKeyAlgoEdDSA
		}
		alice, bob := person(t, "alice", at(made)), person(t, "bob", &c.config)
		if c.self != nil {
			id := bob.Identities[idOf("bob")]
			id.SelfSignature.SigLifetimeSecs = c.self
			if err := id.SelfSignature.SignUserId(id.UserId.Id, bob.PrimaryKey, bob.PrivateKey, at(made)); err != nil {
				t.Fatal(err)
			}
		}
		conf := at(signed)
		conf.SigLifetimeSecs = uint32(c.lasts / time.Second)
		sign(t, alice, bob, "bob", conf)
		w := webOf(t, c.policy, bytesOf(t, alice), bytesOf(t, bob))
		var from, to Key = 0, 1
		s, h := w.State(to), w.hop(from, to)
		if s.Against != c.key {
			t.Errorf("%s: the key %q, want %q", c.what, s.Against, c.key)
		}
		if lasts := c.config.KeyLifetimeSecs; lasts > 0 != s.Expires.Equal(made.Add(1000*day)) {
			t.Errorf("%s: the key ends %s", c.what, s.Expires)
		}
		var want []string
		if c.key != "" {
			want = append(want, "the signed key "+w.Fingerprint(to).String()+" "+c.key)
		}
		if c.hop != "" {
			want = append(want, c.hop)
		}
		if !slices.Equal(h.Against, want) {
			t.Errorf("%s: against the signature %q, want %q", c.what, h.Against, want)
		}
		var end time.Time
		if c.lasts > 0 {
			end = signed.Add(c.lasts)
		}
		if c.hop == "" && (!h.Expires.Equal(end) || !h.Made.Equal(signed)) {
			t.Errorf("%s: the signature of %s ends %s", c.what, h.Made, h.Expires)
		}
		p, err := w.Shortest(t.Context(), Query{Roots: []Root{{Key: from}}, To: to, MaxLength: 1})
		if err != nil || (p != nil) != (c.key+c.hop == "") {
			t.Errorf("%s: path %v (%v)", c.what, shown(p), err)
		}
	}
}

// TestDirectKeySignatures: what a key says of itself without a user id (RFC 9580, section 5.2.1.8).
func TestDirectKeySignatures(t *testing.T) {
	day := 24 * time.Hour
	direct := func(t *testing.T, by, over *openpgp.Entity, kind packet.SignatureType, when time.Time, lasts time.Duration) []byte {
		t.Helper()
		s := &packet.Signature{Version: 4, SigType: kind, PubKeyAlgo: by.PrimaryKey.PubKeyAlgo, IssuerKeyId: &over.PrimaryKey.KeyId}
		s.Hash, s.CreationTime = at(when).Hash(), when
		if seconds := uint32(lasts / time.Second); lasts > 0 {
			s.KeyLifetimeSecs = &seconds
		}
		if err := s.SignDirectKeyBinding(over.PrimaryKey, by.PrivateKey, at(when)); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := s.Serialize(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, c := range []struct {
		what    string
		kind    packet.SignatureType
		when    time.Time
		lasts   time.Duration
		forged  bool
		nameToo bool // the user id is there too
		want    string
	}{
		{what: "by itself", when: made},
		{what: "by itself, and over", when: made, lasts: 900 * day, want: "expired on 2022-06-19"},
		{what: "newer than that of the user id", when: made.Add(day), lasts: 900 * day, nameToo: true, want: "expired on 2022-06-19"},
		{what: "older than the key, with a user id", when: made.Add(-day), lasts: 900 * day, nameToo: true},
		{what: "older than the key", when: made.Add(-day), want: "has no valid signature by itself"},
		{what: "from the future, with a user id", when: now.Add(day), lasts: 900 * day, nameToo: true},
		{what: "from the future", when: now.Add(day), want: "has no valid signature by itself"},
		{what: "forged, with a user id", when: made.Add(day), lasts: 900 * day, nameToo: true, forged: true},
		{what: "forged", when: made, forged: true, want: "has no valid signature by itself"},
		{what: "not for that", kind: packet.SigTypeCasualCert, when: made, want: "has no valid signature by itself"},
		{what: "a revocation", kind: packet.SigTypeKeyRevocation, when: made.Add(day), nameToo: true, want: "was revoked on 2020-01-02"},
	} {
		bob := person(t, "bob", at(made))
		by, kind := bob, c.kind
		if c.forged {
			by = person(t, "mallory", at(made))
		}
		if kind == 0 {
			kind = packet.SigTypeDirectSignature
		}
		key, name, subkey := split(t, bob)
		if !c.nameToo {
			name = nil
		}
		w := webOf(t, Policy{Now: now}, key, direct(t, by, bob, kind, c.when, c.lasts), name, subkey)
		if s := w.State(0); s.Against != c.want {
			t.Errorf("%s: the key %q, want %q", c.what, s.Against, c.want)
		}
		if fresh := NewWeb(w.Index, w.Policy); fresh.live(0) && c.kind == packet.SigTypeKeyRevocation {
			t.Errorf("%s: the key may be on a path", c.what)
		}
		if c.want == "" && !w.plausible(0) {
			t.Errorf("%s: the key is not even looked at", c.what)
		}
	}
}

// TestStatsAtTheirWord: without verification the web is what keys say of themselves.
func TestStatsAtTheirWord(t *testing.T) {
	alice, bob, carol := person(t, "alice", at(made)), person(t, "bob", at(made)), person(t, "carol", at(made))
	lifetime(t, alice, "alice", 24*3600)
	sign(t, alice, bob, "bob", at(made)) // of a key that has expired
	sign(t, bob, carol, "carol", at(made))
	sign(t, carol, bob, "bob", at(made))
	parts := [][]byte{bytesOf(t, alice), bytesOf(t, bob)}
	key, name, subkey := split(t, carol)
	dave, daveName, _ := split(t, person(t, "dave", at(made)))
	onDave := claimed{issuer: keyID(carol), created: made}.packet()
	parts = append(parts, key, name, subkey, dave, daveName, onDave)
	for _, c := range []struct {
		verify       bool
		live, signed int
	}{{false, 3, 3}, {true, 3, 2}} {
		s, err := webOf(t, Policy{Now: now}, parts...).Stats(t.Context(), c.verify, func(int64, int64) {})
		if err != nil || s.Keys != 4 || s.Live != c.live || s.Signed != c.signed || s.Strong != 2 || s.Verified != c.verify {
			t.Errorf("verified %v: %+v (%v), want %d live keys and %d signatures", c.verify, s, err, c.live, c.signed)
		}
	}
}
