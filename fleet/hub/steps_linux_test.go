package hub

import (
	"archive/tar"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/join"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// nowhere is a NATS server that there is not: a hub that would use it starts up to there.
const nowhere = "tls://127.0.0.1:1"

// TestStartsInOrder: what the database cannot do is an error before a hub connects to anything.
func TestStartsInOrder(t *testing.T) {
	for table, want := range map[string]string{"leases": "leases", "agents": "the database: ", "catalogue": "the database: ",
		"": nowhere[len("tls://"):]} {
		dir := storetest.Dir(t)
		file := filepath.Join(dir, DatabaseFile)
		storetest.Open(t, file)
		if table != "" {
			raw, err := sql.Open("sqlite", file)
			if err == nil {
				_, err = raw.Exec("DROP TABLE " + table)
				raw.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := Start(t.Context(), Config{Dir: dir, NATS: nowhere, Traps: []string{"a"}, Log: func(string) {}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), table) {
			t.Errorf("without the table %q: %v, want %s", table, err, want)
		}
	}
	bad := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(bad, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := &Hub{Config: Config{NATS: nowhere, CA: bad}}
	if err := h.connect(); err == nil || err.Error() != bad+": no certificate in it" || h.Conn != nil {
		t.Errorf("connected in spite of an authority that is none: %v", err)
	}
}

// TestLeaseOfBefore: a hub ends the lease of one that was killed, in its own folder alone: a database elsewhere
// may be another hub's, too.
func TestLeaseOfBefore(t *testing.T) {
	for _, own := range []bool{true, false} {
		dir, file := storetest.Dir(t), filepath.Join(storetest.Dir(t), "x.db")
		c := Config{Dir: dir, NATS: nowhere, Database: file, Log: func(string) {}}
		if own {
			c.Database = ""
			file = filepath.Join(dir, DatabaseFile)
		}
		db := storetest.Open(t, file)
		if ok, err := db.Lease(t.Context(), "ingest", "killed", time.Hour); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if _, err := Start(t.Context(), c); err == nil {
			t.Fatal("there is a server")
		}
		if ok, err := db.Lease(t.Context(), "ingest", "next", time.Hour); err != nil || ok != own {
			t.Errorf("in its own folder %t: the lease is had by the next: %t, %v", own, ok, err)
		}
	}
}

// TestRefusedHoldsNothing: whoever may not use a state folder keeps nothing of it open, and says what it cannot do.
func TestRefusedHoldsNothing(t *testing.T) {
	dir := t.TempDir()
	lock, err := alone(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := alone(dir); err == nil {
		t.Fatal("two have the folder")
	}
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(fds) == 0 {
		t.Fatal(fds, err)
	}
	open := 0
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); to == filepath.Join(dir, lockFile) {
			open++
		}
	}
	if open != 1 {
		t.Errorf("the lock's file is open %d times", open)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	means.AsNobody(t, func() {
		if err := OpenDir(dir); !errors.Is(err, os.ErrPermission) {
			t.Errorf("a folder that others may read, and that is not ours: %v", err)
		}
	})
}

// TestListGoesOn: to the list of revoked keys only more is written: a copy of it is the beginning of a later one.
func TestListGoesOn(t *testing.T) {
	dir, db := t.TempDir(), storetest.SQLite(t)
	file := filepath.Join(dir, RevokedFile)
	had := store.RevokedKey{Key: userKey(t), Agent: "web2", Retired: true, At: time.Unix(2e9, 0).UTC()}
	earlier := store.RevokedKey{Key: userKey(t), Agent: "web1", Retired: true, At: time.Unix(1e9, 0).UTC()}
	if err := errors.Join(writeRevoked(file, []store.RevokedKey{had}), db.Revoke(t.Context(), []store.RevokedKey{earlier})); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := Remember(t.Context(), dir, db); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(after, before) || bytes.Count(after, []byte("\n")) != 3 {
		t.Errorf("%s, then %s, %v", before, after, err)
	}
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := Remember(t.Context(), dir, db); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(file); err != nil || !os.SameFile(st, now) {
		t.Errorf("a list without news is written again: %v", err)
	}
}

// TestHousekeeping: revoked keys and packs are looked at twice a minute, what is old is removed once an hour; what
// fails is said each time, and nothing once the hub ends.
func TestHousekeeping(t *testing.T) {
	db, dir := storetest.SQLite(t), t.TempDir()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var log logged
		h := &Hub{Config: Config{Dir: dir, Log: log.say, Keep: time.Hour}, DB: db}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { h.keepHouse(ctx); close(ended) }()
		at := func(since time.Duration, want int) {
			t.Helper()
			time.Sleep(since)
			synctest.Wait()
			log.mu.Lock()
			defer log.mu.Unlock()
			if len(log.said) != want {
				t.Errorf("%d messages, want %d: %.300q", len(log.said), want, log.said)
			}
			log.said = nil
		}
		at(29*time.Second, 0)
		at(2*time.Second, 3) // the list, agents that are to hear, packs
		at(30*time.Second, 3)
		at(time.Hour-62*time.Second, 117*3)
		at(2*time.Second, 3+4) // and acceptances, the day's curves, old changes, too many of them
		cancel()
		<-ended
		h.ban(ctx)
		h.judge(ctx)
		h.revive(ctx)
		at(time.Hour, 0)
	})
}

// agentOf logs in at a hub's server as an agent.
func agentOf(t *testing.T, h *Hub, agent string) (nc *nats.Conn, key string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	if key, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}
	token, err := h.keys.AgentJWT(agent, key)
	if err != nil {
		t.Fatal(err)
	}
	nc, err = nats.Connect("", nats.InProcessServer(h.server.Server), nats.NoReconnect(), nats.UserJWT(
		func() (string, error) { return token, nil }, func(nonce []byte) ([]byte, error) { return pair.Sign(nonce) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, key
}

// TestStream: the stream of a hub's own server takes most of what the server may keep; what waits in it is counted, and
// where it takes nothing it is started again, or that is said. Who is shut out is, at once.
func TestStream(t *testing.T) {
	means.Ends(t)
	var log logged
	dir := storetest.Dir(t)
	const most = 100 << 20
	h, err := Start(t.Context(), Config{Dir: dir, Listen: "127.0.0.1:0", MaxStore: most, Log: log.say})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	c, err := h.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.queue.Store(&c)
	js, err := jetstream.New(h.Conn)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := js.Stream(t.Context(), bus.Stream); err != nil || s.CachedInfo().Config.MaxBytes != most/10*9 {
		t.Errorf("%+v, %v", s, err)
	}
	many := &Hub{Config: Config{MaxStore: most, Replicas: 3, Log: log.say}, Conn: h.Conn}
	if _, err := many.open(t.Context()); err == nil || !strings.Contains(err.Error(), "replicas") {
		t.Errorf("three copies, where there is one server: %v", err)
	}

	// What waits: handed out already, or not.
	nc, key := agentOf(t, h, "web1")
	for range 3 {
		if err := nc.Publish(message.From("web1", key)+".report", []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	waiting := func(want int64) {
		t.Helper()
		means.Until(t, fmt.Sprintf("%d messages in the queue", want), func() bool {
			n, err := h.Queue(t.Context())
			return err == nil && n == want
		})
	}
	waiting(3)
	got, err := c.Fetch(2)
	if err != nil {
		t.Fatal(err)
	}
	var last jetstream.Msg
	for m := range got.Messages() {
		last = m
	}
	waiting(3)
	if err := last.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting(1)

	// Who floods is out, and named; the others stay.
	other, _ := agentOf(t, h, "web2")
	h.flood(key)
	means.Until(t, "its connection ends", nc.IsClosed)
	if other.IsClosed() || !log.has("an agent floods the hub; its key is shut out for a quarter of an hour: "+key) {
		t.Errorf("the other one is out, too: %t; said %q", other.IsClosed(), log.said)
	}
	elsewhere := &Hub{Config: Config{Log: log.say}} // at others' servers: it is only said
	elsewhere.flood("UX")
	elsewhere.floods()
	if !log.has("quarter of an hour: UX") {
		t.Errorf("said %q", log.said)
	}

	// JetStream is off, as after a full disk.
	h.revive(t.Context())
	if err := h.Storing(); err != nil || log.has("agents' messages") {
		t.Errorf("without trouble: %v, %q", err, log.said)
	}
	off := func() {
		t.Helper()
		if err := h.server.ShutdownJetStream(); err != nil {
			t.Fatal(err)
		}
		h.revive(t.Context())
	}
	off()
	if err := h.Storing(); err != nil || !log.has("agents' messages are kept again") || log.has("cannot be kept") {
		t.Errorf("after it was off once: %v, %q", err, log.said)
	}
	waiting(1)
	off() // too soon for the next start
	if err := h.Storing(); err == nil || !log.has("agents' messages cannot be kept, and agents keep them meanwhile: "+err.Error()) {
		t.Errorf("while it is off: %v, %q", err, log.said)
	}
	said := len(log.said)
	h.revive(t.Context())
	if len(log.said) != said {
		t.Errorf("the same trouble is said again: %q", log.said[said:])
	}

	// Where the connection is gone, nothing is done, and that is said.
	h.Conn.Close()
	if err := h.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the stream "+bus.Stream) {
		t.Errorf("it runs without a connection: %v", err)
	}
	if !log.has("it is created again") {
		t.Errorf("said %q", log.said)
	}
	said = len(log.said)
	if err := many.Run(t.Context()); err == nil || len(log.said) != said {
		t.Errorf("others' stream is created again: %v, %q", err, log.said[said:])
	}
	gone := store.RevokedKey{Key: userKey(t), Agent: "web3", Retired: true, At: time.Now()}
	many.DB, many.Dir = storetest.SQLite(t), t.TempDir()
	if err := many.DB.Revoke(t.Context(), []store.RevokedKey{gone}); err != nil {
		t.Fatal(err)
	}
	many.ban(t.Context())
	if !log.has("telling agents that their hosts were retired: ") {
		t.Errorf("said %q", log.said)
	}
}

// TestInvitationEnds: an invitation by token ends when it was said, in all its parts; one by host key does not.
func TestInvitationEnds(t *testing.T) {
	dir, db := t.TempDir(), storetest.SQLite(t)
	known := Known{URLs: []string{"tls://a:1", "tls://b:2"}, Pin: "pin", CA: []byte("der")}
	for _, ssh := range []bool{false, true} {
		from := time.Now()
		line, err := Invite(t.Context(), dir, known, db, Inviting{SSH: ssh, Uses: 1, Life: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		i, err := join.ParseInvite(line)
		if err != nil || !slices.Equal(i.URLs, known.URLs) || i.Pin != known.Pin || !bytes.Equal(i.CA, known.CA) {
			t.Fatalf("%+v, %v", i, err)
		}
		c, err := jwt.DecodeUserClaims(i.JWT)
		if err != nil {
			t.Fatal(err)
		}
		if in := time.Unix(c.Expires, 0).Sub(from); ssh != (c.Expires == 0) || !ssh && (in < 59*time.Minute || in > 61*time.Minute) {
			t.Errorf("by host key %t: it ends %s after it was made", ssh, in)
		}
	}
}

// files are the files of a backup, in order, with what is in them.
func filesOf(t *testing.T, file string) (names []string, content map[string]string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	content = map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names, content
		}
		if err != nil || h.Mode != 0o600 || h.Typeflag != tar.TypeReg || time.Since(h.ModTime) > time.Hour {
			t.Fatalf("%+v, %v", h, err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names, content[h.Name] = append(names, h.Name), string(b)
	}
}

// TestBackupHolds: a backup has each of a hub's files as it is, for its owner alone, and what is restored is the same,
// its folder's owner's; what was revoked since is shut out, and without a list all are.
func TestBackupHolds(t *testing.T) {
	dir, out := storetest.Dir(t), t.TempDir()
	keys, err := bus.LoadKeys(dir)
	if err == nil {
		_, err = bus.OwnTLS(dir, []string{"hub"})
	}
	had := store.RevokedKey{Key: userKey(t), Agent: "web1", Retired: true, At: time.Unix(1e9, 0).UTC()}
	since := store.RevokedKey{Key: userKey(t), Agent: "web2", At: time.Unix(2e9, 0).UTC()}
	later := filepath.Join(out, "later")
	err = errors.Join(err, writeRevoked(filepath.Join(dir, RevokedFile), []store.RevokedKey{had}),
		writeRevoked(later, []store.RevokedKey{since}),
		os.WriteFile(filepath.Join(dir, knownFile), []byte(`{"urls":["tls://a"]}`), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	db := storetest.Open(t, filepath.Join(dir, DatabaseFile))
	token := store.Token{Hash: "h", Created: time.Now(), Expires: time.Now().Add(time.Hour), Uses: 1, Group: "web"}
	if err := db.AddToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	all := append(bus.Files(), RevokedFile, knownFile)
	for database, want := range map[string][]string{"": append(slices.Clone(all), DatabaseFile), "postgres://x": all} {
		file := filepath.Join(out, "backup")
		if err := Backup(t.Context(), dir, Known{Database: database}, file); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(file); err != nil || st.Mode() != 0o600 {
			t.Errorf("%v, %v", st.Mode(), err)
		}
		names, content := filesOf(t, file)
		if !slices.Equal(names, want) {
			t.Errorf("with the database %q: %q, want %q", database, names, want)
		}
		for name, got := range content {
			if b, err := os.ReadFile(filepath.Join(dir, name)); name != DatabaseFile && (err != nil || string(b) != got) {
				t.Errorf("%s: %q, want %q, %v", name, got, b, err)
			}
		}
		if left, err := filepath.Glob(filepath.Join(dir, ".backup-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
		if database != "" {
			continue
		}
		for _, revoked := range []string{later, ""} {
			to := filepath.Join(storetest.Dir(t), "hub")
			err := os.Mkdir(to, 0o755)
			if err == nil && os.Geteuid() == 0 {
				err = os.Chown(to, means.Nobody, means.Staff)
			}
			if err == nil {
				err = Restore(to, file, revoked)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range want {
				b, err := os.ReadFile(filepath.Join(to, name))
				same := string(b) == content[name]
				if changes := name == RevokedFile && revoked != "" || name == bus.Files()[0] && revoked == ""; err != nil || same == changes {
					t.Errorf("restored with the list %q: %s is the same: %t, %v", revoked, name, same, err)
				}
				if st, err := os.Stat(filepath.Join(to, name)); err != nil || st.Mode() != 0o600 {
					t.Errorf("%s: %v, %v", name, st.Mode(), err)
				}
			}
			restored, err := bus.LoadKeys(to)
			if err != nil || bytes.Equal(restored.Secret(), keys.Secret()) != (revoked != "") {
				t.Errorf("restored with the list %q: it signs with the key of before, or not: %v", revoked, err)
			}
			list, err := readRevoked(filepath.Join(to, RevokedFile))
			if err != nil || list[0] != had || revoked != "" && (len(list) != 2 || list[1] != since) {
				t.Errorf("%+v, %v", list, err)
			}
			if _, err := storetest.Open(t, filepath.Join(to, DatabaseFile)).JoinByToken(t.Context(), token.Hash,
				store.Joining{Agent: "x", Host: "x", Key: userKey(t), How: "token"}); err != nil {
				t.Errorf("the restored database: %v", err)
			}
		}
	}
	// Without a list of revoked keys in the backup, there is the one that was given.
	to := filepath.Join(t.TempDir(), "hub")
	if err := Restore(to, backup(t, DatabaseFile, knownFile), later); err != nil {
		t.Fatal(err)
	}
	if list, err := readRevoked(filepath.Join(to, RevokedFile)); err != nil || !slices.Equal(list, []store.RevokedKey{since}) {
		t.Errorf("%+v, %v", list, err)
	}
}
