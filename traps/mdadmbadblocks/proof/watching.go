package proof

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"fettle/lab"
)

// watching enters a bad block while fettle watch looks every second, and
// wants its metrics to tell within two.
func watching(_ context.Context, b *lab.Bench) error {
	r := &rig{Bench: b}
	if err := r.need(2, 24); err != nil {
		return err
	}
	if err := r.create("1", 2, "--bitmap=internal"); err != nil {
		return err
	}
	const file, address = "/run/fettle.prom", "127.0.0.1:9797"
	_, stop, err := b.Spawn([]string{"fettle", "watch", "--interval", "1s", "--textfile", file, "--listen", address})
	if err != nil {
		return err
	}
	defer stop()
	const none, some = `fettle_md_bad_sectors{array="md0",member="loop1"} 0`, `fettle_md_bad_sectors{array="md0",member="loop1"} 8`
	fromFile := func() string { text, _ := os.ReadFile(file); return string(text) }
	fromHTTP := func() string {
		resp, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return ""
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return string(text)
	}
	if err := until(func() bool { return strings.Contains(fromFile(), none) && strings.Contains(fromHTTP(), none) }); err != nil {
		return fmt.Errorf("fettle watch does not begin: %w; %s", err, fromFile())
	}
	b.Columns("What", "Seen in", "After")
	start := time.Now()
	if err := setMD("dev-loop1/bad_blocks", "8192 8"); err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		look func() string
	}{{"the textfile", fromFile}, {"/metrics", fromHTTP}} {
		if err := until(func() bool { return strings.Contains(s.look(), some) }); err != nil {
			return fmt.Errorf("%s does not tell: %w", s.name, err)
		}
		took := time.Since(start)
		b.Row("a new entry of 8 sectors", s.name, took.Round(10*time.Millisecond).String())
		if took > 5*time.Second {
			return fmt.Errorf("%s told after %s", s.name, took)
		}
	}
	return nil
}
