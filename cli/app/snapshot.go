package app

import (
	"context"

	"fettle/before/snapshot"
	"fettle/engine/run"
	"fettle/report/accept"
)

// Snapshots are those of this host.
func Snapshots() (snapshot.Store, error) {
	dir, err := accept.StateDir()
	if err != nil {
		return snapshot.Store{}, Failf("%w", err)
	}
	return snapshot.In(dir), nil
}

// State is what a host does now, read by a confined child.
func (a *App) State(ctx context.Context, tg run.Target) (*snapshot.State, error) {
	st := &snapshot.State{}
	return st, a.Ask(ctx, tg, snapshot.Question, nil, st)
}

// Snapshot saves what this host does now, and tells the snapshot's name.
func (a *App) Snapshot(ctx context.Context) (string, *snapshot.State, error) {
	st, err := a.State(ctx, run.Target{})
	if err != nil {
		return "", nil, err
	}
	name, err := SaveSnapshot(st)
	return name, st, err
}

// SaveSnapshot saves what this host does, and tells the snapshot's name.
func SaveSnapshot(st *snapshot.State) (string, error) {
	s, err := Snapshots()
	if err != nil {
		return "", err
	}
	name, err := s.Save(st)
	if err != nil {
		return "", Failf("%w", err)
	}
	return name, nil
}
