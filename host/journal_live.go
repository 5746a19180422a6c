package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// How many of the last lines of each part are read.
const (
	kernelLines  = 5000
	managerLines = 2000
	recentLines  = 10000
	failedLines  = 1000
	loopLines    = 300
	maxFailed    = 30 // units
	maxFrequent  = 30
)

// JournalFields are those that are asked of journalctl (systemd 236).
const JournalFields = "--output-fields=MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_COMM,_SYSTEMD_UNIT,UNIT,_TRANSPORT"

// ReadJournal reads the log of the running machine. run runs a read-only
// command: whoever confines commands hands over its own.
func ReadJournal(ctx context.Context, run func(context.Context, Command) (Output, error)) ([]byte, error) {
	r := journalReader{run: run, now: time.Now().UTC()}
	var j Journal
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		j = r.withoutSystemd(ctx)
	} else {
		r.parts(ctx, &j)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if j.Kernel.Missing != "" || j.Kernel.Lines == 0 {
		if k := r.dmesg(ctx); k.Missing == "" && k.Lines > 0 {
			j.Kernel = k
		}
	}
	return json.Marshal(j)
}

// kernelMatch and managerMatch find the entries of the kernel, and the warnings and
// worse of process 1.
var (
	kernelMatch  = []string{"_TRANSPORT=kernel", "_TRANSPORT=audit"}
	managerMatch = []string{"_PID=1", "PRIORITY=0", "PRIORITY=1", "PRIORITY=2", "PRIORITY=3", "PRIORITY=4"}
)

// early reads two parts with one command, and each with its own where these
// have more than that may print: then one part could leave no room for the other.
func (r *journalReader) early(ctx context.Context, j *Journal) {
	out, missing := r.lines(ctx, kernelLines, JournalFields, slices.Concat(kernelMatch, []string{"+"}, managerMatch))
	switch {
	case missing != nil:
		j.Kernel, j.Manager = *missing, *missing
	case bytes.Count(out, []byte("\n")) < kernelLines:
		kernel := func(transport string) bool { return transport == "kernel" || transport == "audit" }
		j.Kernel = r.digest(out, kernelLines, Complains, kernel)
		j.Manager = r.digest(out, managerLines, nil, func(t string) bool { return !kernel(t) })
		j.Kernel.Cut, j.Manager.Cut = false, false
	default:
		j.Kernel = r.ask(ctx, kernelLines, Complains, kernelMatch...)
		j.Manager = r.ask(ctx, managerLines, nil, managerMatch...)
	}
}

// parts reads the four parts: one after the other where there is one processor.
func (r *journalReader) parts(ctx context.Context, j *Journal) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, min(3, runtime.NumCPU()))
	for _, read := range []func(){
		func() { r.early(ctx, j) },
		func() { j.Recent = r.ask(ctx, recentLines, nil); j.Recent.frequent(maxFrequent) },
		func() { j.Failed = r.failed(ctx) },
	} {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			read()
		})
	}
	wg.Wait()
}

type journalReader struct {
	run func(context.Context, Command) (Output, error)
	now time.Time
}

// withoutSystemd is a log where no journald writes one.
func (r *journalReader) withoutSystemd(ctx context.Context) Journal {
	none := Log{Missing: ErrNoSystemd.Error()}
	return Journal{Kernel: r.dmesg(ctx), Manager: none, Failed: none, Recent: none}
}

// ask reads the last n lines of this boot that match.
func (r *journalReader) ask(ctx context.Context, n int, keep func(string) bool, match ...string) Log {
	out, missing := r.lines(ctx, n, JournalFields, match)
	if missing != nil {
		return *missing
	}
	return r.digest(out, n, keep, nil)
}

// lines are the last n lines of this boot that match, as JSON, or why nobody could look.
func (r *journalReader) lines(ctx context.Context, n int, fields string, match []string) ([]byte, *Log) {
	args := append([]string{"-b", "-o", "json", "--no-pager", "-n", strconv.Itoa(n)}, match...)
	i := len(args) - len(match)
	out, err := r.run(ctx, Command{Name: "journalctl", Args: slices.Insert(slices.Clone(args), i, fields)})
	if err == nil && out.Exit != 0 && bytes.Contains(out.Stderr, []byte("output-fields")) { // before systemd 236
		out, err = r.run(ctx, Command{Name: "journalctl", Args: args})
	}
	switch {
	case errors.Is(err, ErrDenied):
		return nil, &Log{Missing: "the journal cannot be read", Denied: true}
	case err != nil:
		return nil, &Log{Missing: "journalctl: " + Reason(err)}
	case bytes.Contains(out.Stderr, []byte("insufficient permissions")):
		return nil, &Log{Missing: "the journal cannot be read", Denied: true}
	case out.Exit != 0 && len(out.Stdout) == 0 && !bytes.Contains(out.Stderr, []byte("No journal")):
		return nil, &Log{Missing: "journalctl failed: " + firstLine(out.Stderr)}
	case bytes.Contains(out.Stderr, []byte("not seeing messages from other users")):
		return nil, &Log{Missing: "the journal of the system cannot be read", Denied: true}
	case bytes.Contains(out.Stderr, []byte("No journal files were")):
		return nil, &Log{Missing: "there is no journal"}
	}
	return out.Stdout, nil
}

// digest counts the lines whose transport is wanted (nil: all), of at most n, and
// keeps the messages among them to which keep agrees (nil: all).
func (r *journalReader) digest(out []byte, n int, keep func(text string) bool, wanted func(transport string) bool) Log {
	var d Digest
	for line := range bytes.Lines(out) {
		l, transport, ok := journalEntry(line)
		switch {
		case !ok || wanted != nil && !wanted(transport):
		case keep != nil && !keep(l.Text):
			d.Skip(l.At)
		default:
			d.Add(l)
		}
	}
	log := d.Log("journalctl")
	log.Until = r.now
	log.Cut = log.Lines >= n
	return log
}

// failed reads the last lines of the units that have failed, or wait for their next start.
func (r *journalReader) failed(ctx context.Context) Log {
	out, err := r.run(ctx, Command{Name: "systemctl", Args: TroubledUnits})
	if err != nil || out.Exit != 0 {
		return Log{Missing: "systemctl does not list the failed units"}
	}
	var match, loops []string
	for _, u := range ParseListedUnits(out.Stdout) {
		switch {
		case u.ActiveState == "failed" && len(match) < 2*maxFailed:
			match = append(match, "-u", u.Name)
		case u.SubState == "auto-restart" && len(loops) < 2*maxFailed:
			loops = append(loops, "-u", u.Name)
		}
	}
	log := Log{Source: "journalctl", Until: r.now}
	if len(match) > 0 {
		log = r.ask(ctx, failedLines, nil, match...)
	}
	// By themselves: they say much, and would push out what has failed once.
	if len(loops) > 0 && log.Missing == "" {
		more := r.ask(ctx, loopLines, nil, loops...)
		log.Messages = append(more.Messages, log.Messages...)
		log.Lines += more.Lines
		if log.Since.IsZero() || !more.Since.IsZero() && more.Since.Before(log.Since) {
			log.Since = more.Since
		}
	}
	return log
}

// dmesg reads the kernel's own ring of messages; dmesg itself is asked where the kernel's
// call says less.
func (r *journalReader) dmesg(ctx context.Context) Log {
	ring, err := kernelRing()
	switch {
	case errors.Is(err, os.ErrPermission):
		return Log{Missing: "dmesg: " + Reason(ErrDenied), Denied: true}
	case err != nil:
		out, err := r.run(ctx, Command{Name: "dmesg", Args: []string{}})
		switch {
		case err != nil:
			return Log{Missing: "dmesg: " + Reason(err), Denied: errors.Is(err, ErrDenied)}
		case out.Exit != 0:
			return Log{Missing: "dmesg: " + firstLine(out.Stderr), Denied: bytes.Contains(out.Stderr, []byte("not permitted"))}
		}
		ring = out.Stdout
	}
	up := 0.0
	if b, err := os.ReadFile("/proc/uptime"); err == nil {
		first, _, _ := strings.Cut(string(b), " ")
		up, _ = strconv.ParseFloat(first, 64)
	}
	log := DmesgLog(string(ring), LogText{Now: r.now, Boot: r.now.Add(-time.Duration(up * float64(time.Second)))})
	log.Until = r.now
	return log
}

// DmesgLog is the digest of what dmesg prints.
func DmesgLog(text string, t LogText) Log {
	var d Digest
	early := false
	t.Lines(text, func(l LogLine) {
		early = early || strings.HasPrefix(l.Text, "Linux version ")
		if Complains(l.Text) {
			d.Add(l)
		} else {
			d.Skip(l.At)
		}
	})
	log := d.Log("dmesg")
	log.Cut = !early
	return log
}

// JournalLine reads one line of journalctl -o json (systemd's "Journal JSON
// Format"): a field is a string, null where it is longer than 4096 bytes, an
// array of bytes where it is no text, or a list of these where it is more
// than once.
func JournalLine(b []byte) (LogLine, bool) {
	l, _, ok := journalEntry(b)
	return l, ok
}

// journalEntry is JournalLine, and how the line came to journald.
func journalEntry(b []byte) (l LogLine, transport string, ok bool) {
	var e struct {
		At       string `json:"__REALTIME_TIMESTAMP"`
		Message  any    `json:"MESSAGE"`
		Priority any    `json:"PRIORITY"`
		By       any    `json:"SYSLOG_IDENTIFIER"`
		Comm     any    `json:"_COMM"`
		Unit     any    `json:"_SYSTEMD_UNIT"`
		Of       any    `json:"UNIT"` // of whom systemd speaks
		How      any    `json:"_TRANSPORT"`
	}
	if json.Unmarshal(b, &e) != nil {
		return LogLine{}, "", false
	}
	us, err := strconv.ParseInt(e.At, 10, 64)
	if err != nil || us < 0 || time.UnixMicro(us).UTC().Year() > 9999 { // JSON has years of four digits
		return LogLine{}, "", false
	}
	l = LogLine{At: time.UnixMicro(us).UTC(), By: fieldText(e.By), Unit: fieldText(e.Of), Text: fieldText(e.Message), Priority: -1}
	if l.By == "" {
		l.By = fieldText(e.Comm)
	}
	if l.Unit == "" {
		l.Unit = fieldText(e.Unit)
	}
	if p, err := strconv.Atoi(fieldText(e.Priority)); err == nil && p >= 0 && p <= 7 {
		l.Priority = p
	}
	return l, fieldText(e.How), true
}

func fieldText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		b := make([]byte, 0, len(v))
		for _, e := range v {
			switch e := e.(type) {
			case float64:
				b = append(b, byte(e))
			case string, []any:
				return fieldText(e)
			}
		}
		return string(b)
	}
	return ""
}
