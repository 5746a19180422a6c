package firstlook

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"fettle/internal/lazy"
)

// verdict is how bad a message looks by itself, and why.
type verdict struct {
	score  float64
	why    []string
	effect bool // systemd's report that something ended badly: what the program said is nearer to the cause
}

// telling is the score from which on a message tells of a failure.
const telling = 2.5

// serious is the score from which on it is more than a warning.
const serious = 4.5

// severe are words of failure by their score, in lower case.
var severe = sync.OnceValue(func() map[string]float64 {
	m := map[string]float64{}
	for score, words := range map[float64]string{
		6: "panic fatal crit critical emerg oops segfault corrupt corrupted corruption corruptions uncorrectable uncorrected unrecoverable " +
			"unrecovered",
		5: "error errors errno failed failure failures fail fails failing exception exceptions traceback abort aborted aborting " +
			"aborts " +
			"killed kill killing crash crashed crashes denied refused refusing rejected unreachable timeout timeouts cannot unable " +
			"invalid illegal bad broken missing mismatch expired overflow exhausted unsupported disappeared offline terminated dumped",
		3: "warn warning warnings disconnect disconnected reset resetting retry retrying retries dropped dropping lost deferred " +
			"throttling throttled degraded unclean deprecated unknown ignored ignoring interrupted stuck stall stalled hung " +
			"suspicious violation violates skew limit",
	} {
		for _, w := range strings.Fields(words) {
			m[w] = score
		}
	}
	return m
})

// phrases are those that need more than one word, in lower case.
var phrases = []struct {
	text  string
	score float64
}{
	{"out of memory", 6}, {"oom-kill", 6}, {"hardware error", 6}, {"medium error", 6}, {"i/o error", 6}, {"data loss", 6},
	{"data will be lost", 6}, {"core dump", 6}, {"code=dumped", 6}, {"soft lockup", 6}, {"call trace", 6}, {"aborted journal", 6},
	{"write error", 6}, {"read error", 6}, {"bus error", 6}, {"crc error", 6}, {"(timeout)", 6}, {"(media error)", 6}, {"null pointer",
		6},
	{"general protection fault", 6}, {"kernel bug", 6}, {"bug: ", 6},
	{"read-only file", 5}, {"already in use", 5}, {"no space left", 5}, {"not permitted", 5}, {"timed out", 5}, {"can't", 5},
	{"could not", 5}, {"couldn't", 5}, {"no such", 5}, {"not found", 5}, {"does not exist", 5}, {"not responding", 5}, {"not ready", 5},
	{"not supported", 5}, {"no route", 5}, {"went away", 5}, {"blocked for more", 5}, {"not received", 5}, {"error:", 5}, {"exception:",
		5},
	{"in the future", 3}, {" is down", 3}, {"went down", 3}, {"link down", 3}, {"too many", 3}, {"too large", 3}, {"too long",
		3}, {"too old", 3}, {"too low", 3},
}

// inWord keeps names such as raw_read_error_rate whole: they say nothing.
func inWord(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' || c >= '0' && c <= '9' }

// worst is the worst that a text in lower case says, and in which words.
func worst(lower string) (score float64, said string) {
	severe := severe()
	for i := 0; i < len(lower); {
		if !inWord(lower[i]) {
			i++
			continue
		}
		j := i
		for j < len(lower) && inWord(lower[j]) {
			j++
		}
		if s := severe[lower[i:j]]; s > score {
			score, said = s, lower[i:j]
		}
		i = j
	}
	for _, p := range phrases {
		if p.score > score && strings.Contains(lower, p.text) {
			score, said = p.score, strings.Trim(p.text, " :()")
		}
	}
	if score < 5 && strings.Contains(lower, "exception") {
		return 5, "exception"
	}
	return score, said
}

// harmless are words of failure that tell of none: counts of nothing, options, and success.
var harmless = lazy.Regexp(`(?i)\b(?:(?:0|no|zero|without(?: any)?) (?:\w+ )?(?:errors?|failures?|warnings?)|` +
	`errors?[=:] ?0\b|failed[=:] ?0\b|` +
	`(?:error|failure)s?=(?:none|null|nil|<nil>|success|false)|errors=(?:remount-ro|continue|panic)|` +
	`code=exited,? status=0(?:/SUCCESS)?|` +
	`(?:error|fail)[_-]?(?:log|count|handler|handling|over|back|safe)\w*|log level|err(?:or)?=(?:null|nil|0)\b|last known|` +
	`(?:terminated|exited|ended) (?:normally|gracefully|with success|successfully)|(?:with|without|no) (?:success|problems?)|(?:is|` +
	`was) shut down|` +
	`for low memory corruption|succe(?:ss|eded)\w*|if (?:this|it) fails|crash ?kernel|panic[=_]\w+|no such limit|` +
	`exception(?:al)? handling|reset (?:controller|gpio)|` +
	`watchdog timeout set)\b`)

// levels are what programs themselves say of how bad a line is. What has none of the words, in lower
// case, and no single letter as klog's lines do, need not be matched.
var levels = []struct {
	score float64
	name  string
	words []string
	re    func() *regexp.Regexp
}{
	{4, "fatal", []string{"fatal", "panic", "emerg", "alert", "crit"}, lazy.Regexp(`^\W{0,3}(?:FATAL|PANIC|EMERG|ALERT|CRIT(?:ICAL)?)\b|(?i:\[(?:emerg|alert|crit(?:ical)?|` +
		`fatal)\])|` +
		`\blevel=(?:fatal|panic|critical)\b|\b(?:FATAL|PANIC|CRITICAL):|^F\d{4} `)},
	{3, "an error", []string{"err", "severe"},
		lazy.Regexp(`^\W{0,3}(?:ERROR|ERR|SEVERE)\b|(?i:\[(?:error|err)\s*\])|^<error>|\blevel=err(?:or)?\b|(?:\]|` +
			`\b)\s?ERROR:?\s|^E\d{4} |` +
			`"level":"error"`)},
	{1, "a warning", []string{"warn"},
		lazy.Regexp(`^\W{0,3}WARN(?:ING)?\b|(?i:\[warn(?:ing)?\s*\])|^<warn>|\blevel=warn(?:ing)?\b|\bWARN(?:ING)?:?\s|` +
			`^W\d{4} |` +
			`"level":"warn`)},
	{-3, "", []string{"info", "debug", "notice", "note", "trace"}, lazy.Regexp(`^\W{0,3}(?:INFO|DEBUG|NOTICE|TRACE)\b|(?i:\[(?:info|debug|notice|note|trace)\s*\])|^<(?:info|debug|` +
		`trace)>|\blevel=(?:info|` +
		`debug|trace)\b|` +
		`\b(?:INFO|DEBUG|NOTICE):?\s|^I\d{4} |"level":"(?:info|debug)"`)},
}

// effects are systemd's own reports that something ended badly (src/core/unit.c, job.c,
// service.c). Exit statuses from 200 on are systemd's, and name the step that failed.
var effects = lazy.Regexp(`(?i)^(?:Failed to start |Unit \S+ entered failed state|Dependency failed for |Job for \S+ failed)|` +
	`: (?:Failed with result|Main process exited|Control process exited|Unit entered failed state|Start request repeated too quickly|` +
	`Scheduled restart job|Service hold-off time over|Triggering OnFailure|Job \S+ failed with result|Service RestartSec=\S+ expired|` +
	`main process exited|Consumed |Killing process|State '[a-z-]+' timed out)|^[\w@.\\-]+\.service (?:failed\.|holdoff time over|` +
	`: main process exited)|^[Ss]tart request repeated`)

// knocks are what every host on the Internet logs all day: strangers who try to log in.
var knocks = lazy.Regexp(`^(?:error: )?(?:Invalid user |Failed password for |Connection (?:closed|reset) by (?:invalid|` +
	`authenticating) user |` +
	`Disconnected from |Received disconnect from |kex_exchange_identification|Unable to negotiate with |` +
	`maximum authentication attempts|` +
	`pam_unix\(sshd:auth\): |PAM \d+ more authentication failures|banner exchange: |Did not receive identification|` +
	`Bad protocol version|` +
	`Protocol major versions differ|input_userauth_request: invalid user)|\[preauth\]$`)

var systemdStep = lazy.Regexp(`status=2[0-4]\d/|code=(?:dumped|killed)`)

// judge looks at one message alone.
func judge(r *record) verdict {
	text := string(r.text[:min(len(r.text), maxText)])
	var v verdict
	v.level(text)
	switch {
	case r.prio >= 0 && r.prio <= 2:
		v.add(4, "its priority is "+priorities[r.prio])
	case r.prio == 3:
		v.add(3, "its priority is err")
	case r.prio == 4:
		v.add(1, "its priority is warning")
	case r.prio == 7:
		v.score -= 2
	}
	if score, _ := worst(strings.ToLower(text)); score > 0 {
		score, said := worst(strings.ToLower(harmless().ReplaceAllString(text, "")))
		if said != "" {
			v.add(score, `it says "`+said+`"`)
		}
	}
	if v.score > 0 && knocks().MatchString(text) {
		v.score = min(v.score, telling)
	}
	if isSystemd(r.by) && effects().MatchString(text) {
		v.effect = true
		v.score = 2
		if systemdStep().MatchString(text) {
			v.score = 7
		}
	}
	return v
}

func isSystemd(by []byte) bool {
	return len(by) == 0 || string(by) == "systemd" || string(by) == "init"
}

func (v *verdict) level(text string) {
	head := text[:min(len(text), 160)]
	lower := strings.ToLower(head)
	klog := len(head) > 5 && head[5] == ' ' && strings.IndexByte("IWEF", head[0]) >= 0
	for _, l := range levels {
		said := klog || slices.ContainsFunc(l.words, func(w string) bool { return strings.Contains(lower, w) })
		if said && l.re().MatchString(head) {
			v.score += l.score
			if l.name != "" {
				v.why = append(v.why, "the program calls it "+l.name)
			}
			return
		}
	}
}

func (v *verdict) add(score float64, why string) {
	v.score += score
	v.why = append(v.why, why)
}

var priorities = []string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"}
