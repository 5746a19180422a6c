package powercut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fettle/lab"
)

// syncs records an array and the root while both are flushed by many concurrently, and
// looks for orders of writes that no disk can have.
func (rc raidCase) syncs(_ context.Context, b *lab.Bench) error {
	d, l, closeLog, err := rc.recorded(b, rc.besideSyncs)
	if err != nil {
		return err
	}
	defer closeLog()
	wrong, err := impossible(l, func(s uint64) int { return min(d.part(s), 1) })
	if err != nil {
		return err
	}
	facts, flushes := factsAt(l, Cut{Prefix: len(l.Entries)}), 0
	for _, e := range l.Entries {
		if e.Flags&Flush != 0 {
			flushes++
		}
	}
	b.Columns("Entries", "Flushes", "Records", "Impossible")
	b.Row(fmt.Sprint(len(l.Entries)), fmt.Sprint(flushes), fmt.Sprint(facts.written), fmt.Sprint(len(wrong)))
	switch {
	case facts.written == 0:
		return errors.New("the log has no record")
	case len(wrong) > 0:
		return fmt.Errorf("%d orders of writes that no disk can have; %s", len(wrong), wrong[0])
	}
	return nil
}

// besideSyncs appends records to the array while files of the root are synced, and everything.
func (rc raidCase) besideSyncs(d *disk) error {
	if err := d.mountRoot(); err != nil {
		return err
	}
	if err := d.assembleNew(); err != nil {
		return err
	}
	if err := d.mount(array, dataDir, "ext4", 0); err != nil {
		return err
	}
	stop, errs := make(chan struct{}), make(chan error, 4)
	var wg sync.WaitGroup
	for n := range cap(errs) {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				if n == 0 {
					unix.Sync()
				} else if err := synced(fmt.Sprintf("%s/beside%d", rootDir, n), i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	w := startWriter(dataDir+"/records", "recorded")
	time.Sleep(6 * time.Second)
	err := w.end()
	close(stop)
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}

// synced writes a file of the root and waits until it is durable.
func synced(name string, i int) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, i)
	return errors.Join(err, f.Sync(), f.Close())
}
