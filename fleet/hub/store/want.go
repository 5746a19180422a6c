package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fettle/fleet/hub/message"
)

// want answers root on a host, who asks for a pack by hand. It is no report: of the host nothing
// changes, nor how far the pack got; known is what became of looking for the host.
func (b *batch) want(ctx context.Context, h *hostRow, it *Item, known error) (Result, error) {
	switch {
	case errors.Is(known, ErrNone) || known == nil && (h.key != it.Key || h.retired != 0):
		return Result{Verdict: Stranger}, nil
	case known != nil:
		return Result{}, known
	}
	p, err := b.wanted(ctx, it.Message.Want)
	if err != nil {
		return Result{}, err
	}
	p.Asked = it.Message.Instance
	travels, err := p.Pack()
	return Result{Verdict: Taken, Packs: [][]byte{travels}}, err
}

// wanted is the pack, or why the host does not get it.
func (b *batch) wanted(ctx context.Context, name string) (*message.Pack, error) {
	no := func(why string) *message.Pack {
		p := message.NewPack(name, 1, nil)
		p.Why = why
		return p
	}
	var version int
	var stage, why string
	var file []byte
	err := b.scan(ctx, "SELECT version, stage, why, file FROM packs WHERE name = ?", []any{name}, &version, &stage, &why, &file)
	switch {
	case errors.Is(err, ErrNone):
		has, err := b.offered(ctx)
		return no(fmt.Sprintf("the hub offers no pack %s; it offers: %s", name, has)), err
	case err != nil:
		return nil, err
	case stage == Stopped:
		return no(fmt.Sprintf("pack %s %d was stopped on the hub: %s", name, version, why)), nil
	}
	return message.UnpackPack(file)
}

// offered are the names of the packs that are handed on, as far as an answer needs them.
func (b *batch) offered(ctx context.Context) (string, error) {
	rows, err := b.query(ctx, "SELECT name FROM packs WHERE stage <> ? ORDER BY name LIMIT 10", Stopped)
	names, err := read(rows, err, func(row scanner) (name string, err error) { return name, row.Scan(&name) })
	if len(names) == 0 {
		names = []string{"none"}
	}
	return strings.Join(names, ", "), err
}
