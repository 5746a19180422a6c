package meaning

import (
	"strconv"
	"strings"

	"fettle/internal/lazy"
)

// Signals are those of Linux on x86 and ARM (signal(7)). Core tells that the default action
// writes a core dump.
var Signals = map[int]struct {
	Entry
	Core bool
}{
	1:  {Entry{"SIGHUP", "the terminal is gone, or somebody asked for a reload"}, false},
	2:  {Entry{"SIGINT", "interrupted from the keyboard"}, false},
	3:  {Entry{"SIGQUIT", "quit from the keyboard"}, true},
	4:  {Entry{"SIGILL", "an instruction that this processor does not know: a program for another one, or damaged code"}, true},
	5:  {Entry{"SIGTRAP", "a breakpoint, or an assertion of the program"}, true},
	6:  {Entry{"SIGABRT", "the program ended itself because it found something impossible; what it printed before says what"}, true},
	7:  {Entry{"SIGBUS", "memory that cannot be reached: a mapped file that was truncated, a full file system, or bad memory"}, true},
	8:  {Entry{"SIGFPE", "a division by zero or the like"}, true},
	9:  {Entry{"SIGKILL", "killed from outside, which no program can catch: by a user, a time limit, or the OOM killer"}, false},
	10: {Entry{"SIGUSR1", "a signal for the program's own purposes, which it did not handle"}, false},
	11: {Entry{"SIGSEGV", "the program used memory that it may not use: a fault of it or of a library"}, true},
	12: {Entry{"SIGUSR2", "a signal for the program's own purposes, which it did not handle"}, false},
	13: {Entry{"SIGPIPE", "it wrote to a pipe or socket that nobody reads any more"}, false},
	14: {Entry{"SIGALRM", "a timer of the program's own"}, false},
	15: {Entry{"SIGTERM", "asked to end: the normal way to stop a service"}, false},
	24: {Entry{"SIGXCPU", "its limit of processor time is used up"}, true},
	25: {Entry{"SIGXFSZ", "a file would grow beyond the limit for files"}, true},
	31: {Entry{"SIGSYS", "a system call that a filter forbids (seccomp, SystemCallFilter=)"}, true},
}

const signalSource = "signal(7)"

var (
	signalStatus = lazy.Regexp(`code=(?:killed|dumped), ?(?:status|signal)=(\d{1,2}/[A-Z]+|[A-Z]+)`)
	signalNumber = lazy.Regexp(`(?i)(?:terminated by |killed by |on |caught |got |received |` +
		`Program terminated with )signal (\d{1,2})\b`)
	signalName = lazy.Regexp(`\bSIG(HUP|INT|QUIT|ILL|TRAP|ABRT|BUS|FPE|KILL|SEGV|PIPE|ALRM|TERM|XCPU|XFSZ|SYS)\b|<(SEGV|` +
		`ABRT|BUS|ILL)>`)
	segfault   = lazy.Regexp(`\bsegfault at ([0-9a-f]+) .*error (\d+)`)
	exitSignal = lazy.Regexp(`(?i)exit(?:ed with)? (?:code|status):? ?(1[2-5]\d)\b`)
)

func signals(text string) []Meaning {
	var out []Meaning
	add := func(term string, n int) {
		if s, ok := Signals[n]; ok {
			says := s.Name + ": " + s.Says
			if s.Core && strings.Contains(text, "dumped") {
				says += "; coredumpctl info shows where, if systemd-coredump keeps dumps"
			}
			out = append(out, Meaning{term, says, signalSource})
		}
	}
	if m := signalStatus().FindStringSubmatch(text); m != nil {
		number, _, ok := strings.Cut(m[1], "/")
		n, err := strconv.Atoi(number)
		if !ok || err != nil {
			n = signalCalled(m[1])
		}
		add(m[0], n)
	}
	if m := segfault().FindStringSubmatch(text); m != nil {
		out = append(out, fault(m[0], m[1], m[2]))
	}
	if m := signalNumber().FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		add(m[0], n)
	}
	if m := signalName().FindStringSubmatch(text); m != nil {
		add(m[0], signalCalled(m[1]+m[2]))
	}
	if m := exitSignal().FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		add(m[0], n-128) // POSIX: a shell adds 128 to the number of the signal
	}
	return out
}

func signalCalled(name string) int {
	for n, s := range Signals {
		if s.Name == "SIG"+name {
			return n
		}
	}
	return 0
}

// fault reads the kernel's line of a page fault on x86 (arch/x86/mm/fault.c, show_signal_msg;
// the bits of the error code are enum x86_pf_error_code in arch/x86/include/asm/trap_pf.h).
func fault(term, at, code string) Meaning {
	n, _ := strconv.ParseUint(code, 16, 16)
	did := "read"
	if n&2 != 0 {
		did = "wrote"
	}
	if n&16 != 0 {
		did = "ran code"
	}
	why := "where nothing is mapped"
	if n&1 != 0 {
		why = "without the right to"
	}
	if a, err := strconv.ParseUint(at, 16, 64); err == nil && a < 4096 {
		why += ", at a null pointer"
	}
	return Meaning{term, "SIGSEGV: the program " + did + " " + why, "the kernel's arch/x86/include/asm/trap_pf.h"}
}
