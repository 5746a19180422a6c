package sysctlconf

import (
	"strconv"
	"strings"
)

// Taken is what the kernel takes of a value in a file, where the parameter is of
// numbers. Neither sysctl(8) nor systemd-sysctl(8) knows comments after a value:
// both write the whole of it. The kernel reads as many numbers as the parameter has,
// up to a blank, and ignores what follows (kernel/sysctl.c, do_proc_dointvec;
// tried on 6.18 with "65 # comment"). "65# comment" it refuses, and "20000 # 60000"
// for two numbers. Of any other value Taken is the value.
func Taken(value string) string {
	numbers, comment := splitComment(value)
	if comment == "" || numbers == "" {
		return value
	}
	for f := range strings.FieldsSeq(numbers) {
		if _, err := strconv.ParseInt(f, 0, 64); err != nil {
			return value
		}
	}
	return numbers
}

// MeantAsComment is the comment after a value that the kernel does not take for one: of text
// it is a part of it (kernel.domainname, kernel.core_pattern), or the write fails
// (net.ipv4.tcp_congestion_control). Empty: there is none. key is a path below
// /proc/sys.
func MeantAsComment(key, value string) (text, comment string) {
	text, comment = splitComment(value)
	if comment == "" || Taken(value) != value && !strings.HasSuffix(key, "/ip_local_reserved_ports") {
		return value, "" // a bitmap, which is refused (proc_do_large_bitmap)
	}
	if strings.HasSuffix(key, "/stable_secret") || strings.HasSuffix(key, "/tcp_fastopen_key") {
		return value, "" // read up to the blank, as numbers are
	}
	return text, comment
}

// splitComment splits a value before a "#" that begins a word.
func splitComment(value string) (before, comment string) {
	for i := 1; i < len(value); i++ {
		if (value[i-1] == ' ' || value[i-1] == '\t') && value[i] == '#' {
			return strings.TrimSpace(value[:i]), value[i:]
		}
	}
	return value, ""
}
