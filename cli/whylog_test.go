package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"fettle/traps"
	"fettle/why"
	"fettle/why/firstlook"
)

// logForms are how BenchmarkWhyLog writes the n-th line.
var logForms = map[string]func(w io.Writer, n int, by, text string){
	"syslog": func(w io.Writer, n int, by, text string) {
		fmt.Fprintf(w, "Mar %2d %02d:%02d:%02d web1 %s: %s\n", n/86400%28+1, n/3600%24, n/60%60, n%60, by, text)
	},
	"short-iso": func(w io.Writer, n int, by, text string) {
		fmt.Fprintf(w, "2026-03-%02dT%02d:%02d:%02d+0000 web1 %s: %s\n", n/86400%28+1, n/3600%24, n/60%60, n%60, by, text)
	},
	"json": func(w io.Writer, n int, by, text string) {
		_ = json.NewEncoder(w).Encode(map[string]string{
			"__CURSOR":             fmt.Sprintf("s=6f0c5a1e8b774d8e9c2d3e4f5a6b7c8d;i=%x;t=%x;x=%x", n, n, n),
			"__REALTIME_TIMESTAMP": fmt.Sprint(1772524800000000 + n),
			"_HOSTNAME":            "web1", "_TRANSPORT": "journal", "PRIORITY": "6", "_SYSTEMD_UNIT": by + ".service", "_EXE": "/usr/sbin/" + by,
			"SYSLOG_IDENTIFIER": by, "MESSAGE": text})
	},
	"export": func(w io.Writer, n int, by, text string) {
		fmt.Fprintf(w, "__CURSOR=s=6f0c5a1e8b774d8e9c2d3e4f5a6b7c8d;i=%x;t=%x;x=%x\n", n, n, n)
		fmt.Fprintf(w, "__REALTIME_TIMESTAMP=%d\n_HOSTNAME=web1\n_TRANSPORT=journal\nPRIORITY=6\n", 1772524800000000+n)
		fmt.Fprintf(w, "_SYSTEMD_UNIT=%s.service\n_EXE=/usr/sbin/%[1]s\nSYSLOG_IDENTIFIER=%[1]s\nMESSAGE=%s\n\n", by, text)
	},
}

// BenchmarkWhyLog reads a log of 16 MiB as fettle why does, in the forms in which people have them. None of its
// lines is a trap's message: once one is, the first look ends, and the rest is read faster.
func BenchmarkWhyLog(b *testing.B) {
	boot, err := os.ReadFile("../why/testdata/healthy/debian12-boot.log")
	if err != nil {
		b.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(boot)), "\n")
	x, err := why.New(traps.All())
	if err != nil {
		b.Fatal(err)
	}
	for form, write := range logForms {
		var log strings.Builder
		for n := 0; log.Len() < 16<<20; n++ {
			by, text, _ := strings.Cut(lines[n%len(lines)][len("Mar 03 08:01:11 web1 "):], ": ")
			name, _, numbered := strings.Cut(by, "[")
			if numbered && (form == "syslog" || form == "short-iso") {
				name += fmt.Sprintf("[%d]", 300+n%30000)
			}
			write(&log, n, name, text)
		}
		b.Run(form, func(b *testing.B) {
			b.SetBytes(int64(log.Len()))
			for b.Loop() {
				l := firstlook.New()
				ranked, err := x.RankBeside(strings.NewReader(log.String()), l)
				if err != nil || len(ranked) > 0 || l.Report().Lines == 0 {
					b.Fatal(ranked, err)
				}
			}
		})
	}
}
