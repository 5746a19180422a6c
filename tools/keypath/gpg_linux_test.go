package keypath

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// gnupg is the real one, with Debian's keyring and a home of its own.
type gnupg struct {
	t    *testing.T
	home string
}

func newGnuPG(t *testing.T) gnupg {
	t.Helper()
	means.Tool(t, "gpg")
	if _, err := os.Stat(debian); err != nil {
		means.Missing(t, "needs the package debian-keyring")
	}
	home, err := os.MkdirTemp("", "gpg") // its socket's name must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	return gnupg{t, home}
}

func (g gnupg) run(stdin string, args ...string) []byte {
	g.t.Helper()
	cmd := exec.Command(
		"/usr/bin/gpg",
		append(
			[]string{"--homedir", g.home, "--batch", "--no-autostart", "--no-default-keyring", "--keyring", debian, "--with-colons"},
			args...)...)
	cmd.Env, cmd.Stdin = []string{"LC_ALL=C"}, strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && out.Len() == 0 {
		g.t.Fatalf("gpg %q: %v\n%s", args, err, errs.String())
	}
	return out.Bytes()
}

func debianWeb(t *testing.T, p Policy) *Web {
	t.Helper()
	src, err := Sources(t.Context(), []string{debian})
	if err != nil {
		t.Fatal(err)
	}
	x, err := Build(t.Context(), src, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	w := NewWeb(x, p)
	t.Cleanup(w.Close)
	return w
}

// upper is a fingerprint as gpg writes it.
func upper(w *Web, k Key) string {
	return strings.ToUpper(strings.ReplaceAll(fmt.Sprint(w.Fingerprint(k)), " ", ""))
}

// TestConfirmedByGPG: gpg confirms each hop of the paths between 200 random
// pairs of live keys.
func TestConfirmedByGPG(t *testing.T) {
	means.Long(t, "lets gpg check 48,000 signatures")
	good := map[string]bool{} // "signer's key ID, signee's fingerprint"
	key, primary := "", false
	for line := range strings.Lines(string(newGnuPG(t).run("", "--check-sigs"))) {
		f := strings.Split(line, ":")
		switch f[0] {
		case "pub":
			primary = true
		case "sub":
			primary = false
		case "fpr":
			if primary {
				key, primary = f[9], false
			}
		case "sig":
			if f[1] == "!" {
				good[f[4]+","+key] = true
			}
		}
	}
	w := debianWeb(t, Policy{Now: time.Now()})
	var live []Key
	for k := range Key(w.Keys) {
		if w.State(k).Live() {
			live = append(live, k)
		}
	}
	r, paths, hops := rand.New(rand.NewPCG(1, 2)), 0, 0
	for range 200 {
		from, to := live[r.IntN(len(live))], live[r.IntN(len(live))]
		p, err := w.Shortest(t.Context(), Query{Roots: []Root{{Key: from}}, To: to, MaxLength: 30})
		if err != nil {
			t.Fatal(err)
		}
		if len(p) > 0 {
			paths++
		}
		for _, h := range p {
			hops++
			signer, signee := upper(w, h.From), upper(w, h.To)
			if !good[signer[len(signer)-16:]+","+signee] {
				t.Errorf("%s signed %s, says keypath; gpg does not", signer, signee)
			}
		}
	}
	t.Logf("%d live keys; %d of 200 pairs joined, %d hops confirmed", len(live), paths, hops)
	if paths == 0 {
		t.Error("no pair is joined: nothing was compared")
	}
}

// TestAllThatGPGJoins: whatever key gpg's web of trust makes valid from one that
// is trusted ultimately, all others fully, has a path from it.
func TestAllThatGPGJoins(t *testing.T) {
	means.Long(t, "lets gpg compute its web of trust")
	w := debianWeb(t, Policy{Now: time.Now(), AllowSHA1: true, AllowShort: true})
	// Somebody whom many have signed, and who has signed many.
	if joined := joinsAll(t, w, w.Find("93sam@debian.org")[0]); joined < 50 {
		t.Errorf("gpg joined %d keys: nothing was compared", joined)
	}
}

func joinsAll(t *testing.T, w *Web, root Key) (joined int) {
	g := newGnuPG(t)
	var trust strings.Builder
	for k := range Key(w.Keys) {
		level := 5 // fully
		if k == root {
			level = 6 // ultimately
		}
		fmt.Fprintf(&trust, "%s:%d:\n", upper(w, k), level)
	}
	g.run(trust.String(), "--import-ownertrust")
	web := []string{"--trust-model", "pgp", "--max-cert-depth", "30", "--completes-needed", "1"}
	g.run("", append(web, "--check-trustdb")...)
	keys := map[string]Key{}
	for k := range Key(w.Keys) {
		keys[upper(w, k)] = k
	}
	valid, primary := false, false
	for line := range strings.Lines(string(g.run("", append(web, "--no-auto-check-trustdb", "--list-keys")...))) {
		f := strings.Split(line, ":")
		switch f[0] {
		case "pub":
			valid, primary = f[1] == "f" || f[1] == "u", true
		case "sub":
			primary = false
		case "fpr":
			if !primary || !valid {
				continue
			}
			primary = false
			joined++
			if strings.Contains(w.State(keys[f[9]]).Against, "RIPEMD-160, which it uses, is not supported") {
				continue // one key of Debian's 905, of 2010
			}
			p, err := w.Shortest(context.Background(), Query{Roots: []Root{{Key: root}}, To: keys[f[9]], MaxLength: 30})
			if err != nil || p == nil && keys[f[9]] != root {
				t.Errorf("gpg joins %s to %s, and keypath finds no path (%v)", upper(w, root), f[9], err)
			}
		}
	}
	t.Logf("from %s gpg joins %d keys", upper(w, root), joined)
	return joined
}
