package journal

import (
	"encoding/json"
	"strings"

	"fettle/internal/lazy"
)

// Mild tells that the program itself says of a line that it is no error: its logger wrote
// that it is a warning or less.
func Mild(text string) bool {
	if f := fields(text); f != nil {
		switch strings.ToLower(first(f, levels)) {
		case "warning", "warn", "notice", "info", "debug", "trace":
			return true
		}
		return false
	}
	return mild().MatchString(text)
}

// How loggers tell how bad a line is, where it has no fields: glog's letter and date, a
// word in capitals, or one in brackets.
var mild = lazy.Regexp(
	`^[WI]\d{4} |^[^a-z]*\b(?:WARNING|WARN|NOTICE|INFO|DEBUG)\b|^[^"']{0,80}\b(?:WARNING|WARN|NOTICE|INFO|DEBUG)[\]:| ` +
		`]|\[(?:[a-z_]+:)?(?:warning|warn|notice|info|debug)\]`,
)

// glog is how Kubernetes' programs begin a line: "E1124 12:05:36.123456    1234 server.go:205] ".
var glog = lazy.Regexp(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^\s\]]+\] `)

// message is what a line with fields says, as logfmt (time=… level=… msg="…") and JSON
// have them: the message, and the error if there is one. Other lines are what they are,
// without glog's beginning.
func message(text string) string {
	text = glog().ReplaceAllString(text, "")
	f := fields(text)
	said, cause := first(f, messages), first(f, causes)
	switch {
	case said == "" && cause == "":
		return text
	case said == "":
		return cause
	case cause == "" || strings.Contains(said, cause):
		return said
	}
	return said + ": " + cause
}

var (
	levels   = []string{"level", "lvl", "severity"}
	messages = []string{"msg", "message"}
	causes   = []string{"err", "error"}
)

// fields are those of a line in logfmt or JSON that has a level and a message; nil for other lines.
func fields(text string) map[string]string {
	f := map[string]string{}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		var all map[string]any
		if json.Unmarshal([]byte(text), &all) != nil {
			return nil
		}
		for k, v := range all {
			if s, ok := v.(string); ok {
				f[strings.ToLower(k)] = s
			}
		}
		return f
	}
	for _, m := range pair().FindAllStringSubmatch(text, -1) {
		v := m[2]
		if strings.HasPrefix(v, `"`) {
			v = unescape.Replace(strings.Trim(v, `"`))
		}
		f[m[1]] = v
	}
	if first(f, levels) == "" || first(f, messages) == "" && first(f, causes) == "" {
		return nil
	}
	return f
}

var pair = lazy.Regexp(`(?:^| )([a-z]\w*)=("(?:[^"\\]|\\.)*"?|\S*)`)

var unescape = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, " ", `\t`, " ")

// first is the first of some fields that is there.
func first(fields map[string]string, names []string) string {
	for _, n := range names {
		if v := fields[n]; v != "" {
			return v
		}
	}
	return ""
}
