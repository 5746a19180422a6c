package keypath

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"fettle/host/format/keyservers"
	"fettle/tools/keypath"
	"fettle/tools/keypath/fetch"
)

func (v *verb) client() *fetch.Client {
	dir, err := v.folder()
	if err != nil {
		dir = ""
	}
	return &fetch.Client{Folder: filepath.Join(dir, "keys"), Left: v.fetch}
}

// fetchSession fetches what a path may need.
type fetchSession struct {
	*verb
	c     *fetch.Client
	args  []string
	files map[string]string
	w     *keypath.Web
	p     keypath.Policy
}

// overNetwork finds the keys named, and goes on fetching the keys around both
// ends until there are paths, or no more may be asked for.
func (v *verb) overNetwork(w *keypath.Web, args []string, files map[string]string) (*keypath.Web, question, error) {
	e := &fetchSession{v, v.client(), args, files, w, w.Policy}
	servers := v.servers
	if len(servers) == 0 {
		servers = []string{fetch.DefaultServer}
	}
	for _, s := range servers {
		u, err := keyservers.URL(s)
		if err != nil {
			return w, question{}, v.Usagef("--keyserver: %w", err)
		}
		e.c.Servers = append(e.c.Servers, u)
	}
	if err := e.c.Prepare(); err != nil {
		return w, question{}, v.Failf("%w", err)
	}
	if err := e.ends(); err != nil {
		return e.w, question{}, err
	}
	ask, err := v.question(e.w, args, files)
	if err != nil {
		return e.w, ask, err
	}
	ask, err = e.around(ask)
	return e.w, ask, err
}

// ends fetches the keys that the arguments name and no keyring has.
func (e *fetchSession) ends() error {
	fetched := false
	for _, a := range append(append([]string(nil), e.args...), roots(e.trust)...) {
		if e.files[a] != "" || len(e.w.Find(a)) > 0 {
			continue
		}
		err := e.name(a)
		if err != nil && !errors.Is(err, fetch.ErrNone) {
			return e.Failf("looking for %s: %w", a, err)
		}
		fetched = true
	}
	if fetched {
		return e.again()
	}
	return nil
}

func (e *fetchSession) name(a string) error {
	id := strings.ToUpper(strings.TrimPrefix(strings.ToLower(strings.Join(strings.Fields(a), "")), "0x"))
	if n := len(id); (n == 16 || n == 40 || n == 64) && strings.Trim(id, "0123456789ABCDEF") == "" {
		_, err := e.c.ByID(e.ctx, id)
		return err
	}
	if strings.Contains(a, "@") {
		return e.c.ByAddress(e.ctx, a)
	}
	return fetch.ErrNone
}

// again indexes the keyrings with what has come.
func (e *fetchSession) again() error {
	e.w.Close()
	w, _, err := e.open(e.args)
	if err == nil {
		e.w = w
	}
	return err
}

// batch is how many keys are fetched between two looks for a path.
const batch = 16

// around fetches the signers of TO, and of the roots: who signed a root has
// often been signed by it. Keyservers cannot tell whom a key has signed.
func (e *fetchSession) around(ask question) (question, error) {
	rim := newRim()
	for e.ctx.Err() == nil {
		paths, err := e.find(e.w, ask)
		if err != nil || len(paths) >= e.disjoint {
			return ask, err
		}
		ids := rim.next(e.w, ask.Query, batch)
		if len(ids) == 0 || e.c.Left <= 0 {
			break
		}
		new, err := e.fetchAll(e.ctx, ids)
		if err != nil {
			return ask, err
		}
		if new == 0 {
			continue
		}
		if err := e.again(); err != nil {
			return ask, err
		}
		if ask, err = e.question(e.w, e.args, e.files); err != nil {
			return ask, err
		}
	}
	return ask, nil
}

// fetchAll gets keys by id; that some are nowhere is usual.
func (e *fetchSession) fetchAll(ctx context.Context, ids []uint64) (fetched int, _ error) {
	var failed error
	failures := 0
	for _, id := range ids {
		fmt.Fprintf(e.Stderr, "fetching %016X (%d more questions allowed)\n", id, e.c.Left)
		new, err := e.c.ByID(ctx, fmt.Sprintf("%016X", id))
		switch {
		case new:
			fetched++
		case ctx.Err() != nil || e.c.Left <= 0:
			return fetched, nil
		case err != nil && !errors.Is(err, fetch.ErrNone):
			failed = err
			failures++
		}
	}
	if failures == len(ids) {
		return fetched, e.Failf("no keyserver answers: %w", failed)
	}
	return fetched, nil
}
