package redact

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestLongLines: what is tried at each byte looks at a bounded part of the rest, so that a
// line of 16 times the length costs about 16 times as much. Were it all of the rest, it would
// cost 256 times as much. CPU time of this thread is measured: other load does not count.
func TestLongLines(t *testing.T) {
	means.Short(t, "takes seconds")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const short, times = 1 << 10, 16
	r := redactor(t)
	inText := []string{"a.", ":a", "1-", "//", "//a@", "a@a.", "1.", "a:/", "ab:", "0a-", "+1 ", "ldap/a "}
	inLines := []string{"password", "password=", "a=", "-p ", `"`, "'a", "user a ", "$(", "sshpass -p a "}
	for _, way := range []struct {
		name  string
		seeds []string
		f     func(string)
	}{
		{"Text", inText, func(s string) { r.Text(s) }},
		{"a setting", inLines, func(s string) { r.setting("", s) }},
		{"Secrets", inLines, func(s string) { Secrets(s) }},
		{"Command", inLines, func(s string) { r.Command(s) }},
		{"Log", inLines, func(s string) { r.Log(s) }},
		{"Masked", inLines, func(s string) { Masked("", s) }},
	} {
		for _, seed := range way.seeds {
			one := least(way.f, strings.Repeat(seed, short/len(seed)))
			all := least(way.f, strings.Repeat(seed, short*times/len(seed)))
			if limit := 3*times*one + 150*time.Millisecond; all > limit {
				t.Errorf("%s, %q repeated: %v for %d bytes, %v for %d: expected less than %v", way.name, seed, one, short, all, short*times, limit)
			}
		}
	}
}

// TestWordsOfLongValue: what the words of a value take grows with the value, not with its square.
func TestWordsOfLongValue(t *testing.T) {
	s := strings.Repeat("a, ", 1<<15)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := eachWord(s, func(w string) string { return w })
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; got != s || took > 16*uint64(len(s)) {
		t.Errorf("%d bytes for a value of %d; it stays: %t", took, len(s), got == s)
	}
}

// least is the least CPU time of this thread that f takes, of two calls.
func least(f func(string), s string) time.Duration {
	best := time.Hour
	for range 2 {
		before := threadTime()
		f(s)
		best = min(best, threadTime()-before)
	}
	return best
}

func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD, getrusage(2)
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
