package host

import (
	"path"
	"strings"
)

// LogPath reports whether an absolute path lies in a folder for logs: one of its folders
// is called log or logs.
func LogPath(name string) bool {
	for {
		i := strings.Index(name, "/log")
		if i < 0 {
			return false
		}
		name = name[i+len("/log"):]
		if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "s/") {
			return true
		}
	}
}

// RotatedName reports whether the last component of a path is one that log
// rotation gives to a file it sets aside, and what the file was called before:
// "app.log.1", "app.log.old", "app.log-20260102", "app-20260102.log",
// "app.1.log" (logrotate(8): dateext, extension; savelog(8) counts from 0;
// newsyslog).
func RotatedName(name string) (before string, ok bool) {
	dir, base := path.Split(name)
	if b, ok := rotated(base); ok {
		return dir + b, true
	}
	if stem, ok := strings.CutSuffix(base, ".log"); ok {
		if b, ok := rotated(stem); ok {
			return dir + b + ".log", true
		}
	}
	return "", false
}

// rotated takes the mark of rotation off the end of a name.
func rotated(base string) (string, bool) {
	if b, ok := strings.CutSuffix(base, ".old"); ok {
		return b, b != ""
	}
	end := strings.TrimRight(base, "0123456789-")
	mark := base[len(end):]
	if dot := strings.HasSuffix(end, "."); dot {
		end = end[:len(end)-1]
		if n := len(mark); n >= 1 && n <= 3 && strings.Trim(mark, "0123456789") == "" {
			return end, end != "" // a counter: .1, .23
		}
	} else {
		// The dash before the date was taken for a part of it.
		var ok bool
		if mark, ok = strings.CutPrefix(mark, "-"); !ok {
			return "", false
		}
	}
	return end, end != "" && isDate(mark)
}

// isDate knows YYYYMMDD and YYYY-MM-DD, each also with a time or an epoch
// after it: what logrotate's dateformat is usually set to.
func isDate(s string) bool {
	digits := strings.ReplaceAll(s, "-", "")
	if len(digits) < 8 || len(digits) > 20 || strings.HasSuffix(s, "-") {
		return false
	}
	return (digits[:2] == "19" || digits[:2] == "20") && digits[4:6] >= "01" && digits[4:6] <= "12" &&
		digits[6:8] >= "01" && digits[6:8] <= "31"
}
