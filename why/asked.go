package why

import (
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// ask is one line of an article's asked: words that must all be in a text, each
// in one of several forms, and words that must not.
type ask struct {
	trap   int
	slots  [][]form
	not    []form
	anchor int // the slot that tells most: the ask is found by it
}

// form is one way to say it: words that follow each other, or a concept.
type form struct {
	seq     []string // a concept is one word that begins with @
	literal string   // with numbers, addresses or versions: as it is to be written
}

// askLength is how much text one line of asked is sought in, in tokens: its words
// are to speak of one thing.
const askLength = 48

// newAsk reads one line of asked: words that are all in a text, with | between
// the forms of one, - joining what follows each other and before what must be
// absent, and @ before a concept. A line of absences alone rules the trap out.
func newAsk(tk tokenizer, line string) *ask {
	a := &ask{}
	for _, field := range strings.Fields(line) {
		var forms []form
		for _, s := range strings.Split(strings.TrimPrefix(field, "-"), "|") {
			if s == "" {
				continue
			}
			f := form{seq: tk.tokens(s)}
			switch classed := func(t string) bool { return t[0] == '<' }; {
			case s[0] == '@':
				f.seq = []string{s}
			case s[0] >= '0' && s[0] <= '9', s[0] == '_', s[len(s)-1] == '_', slices.ContainsFunc(f.seq, classed): // a class says too little
				f.literal = strings.Trim(plain(s), "-")
			}
			if len(f.seq) > 0 {
				forms = append(forms, f)
			}
		}
		switch {
		case len(forms) == 0:
		case field[0] == '-':
			a.not = append(a.not, forms...)
		default:
			a.slots = append(a.slots, forms)
		}
	}
	return a
}

// addAsks indexes the asks by the first words of their anchor, when all words
// are weighed.
func (x *Index) addAsks(trap int, asks []*ask) {
	for _, a := range asks {
		a.trap = trap
		if len(a.slots) == 0 {
			x.vetoes = append(x.vetoes, a)
			continue
		}
		most := -1.0
		for i, slot := range a.slots {
			least := math.Inf(1)
			for _, f := range slot {
				switch {
				case f.seq[0][0] == '@': // many words lead to it
					least = -1
				case f.literal != "":
					least = min(least, 0)
				default:
					least = min(least, x.says(f))
				}
			}
			if least > most {
				a.anchor, most = i, least
			}
		}
		var firsts []string
		for _, f := range a.slots[a.anchor] {
			if !slices.Contains(firsts, f.seq[0]) {
				firsts = append(firsts, f.seq[0])
				x.asks[f.seq[0]] = append(x.asks[f.seq[0]], a)
			}
		}
	}
}

// literalInfo is what an address, a number or a version says, conceptInfo what
// one word of many for the same.
const (
	literalInfo = 0.8
	conceptInfo = 0.2
)

// says is how much a form tells: the weight of its words in the lore, or what
// they say by themselves.
func (x *Index) says(f form) float64 {
	if f.literal != "" {
		return literalInfo
	}
	sum := 0.0
	for _, t := range f.seq {
		switch w := x.words[t]; {
		case t[0] == '@':
			sum += conceptInfo
		case t[0] == '<':
			sum += 0.15
		case w != nil && w.weight > 0:
			sum += w.weight
		default:
			sum += max(background(t), 0.1)
		}
	}
	return sum
}

// piece is text in which asks are sought.
type piece struct {
	lines  []string
	text   string // the lines made plain, when a number is sought
	tokens []string
	has    map[string]bool // the tokens, their parts at underscores, and the concepts they stand for
}

func (p *piece) set(tokens []string) {
	if p.has == nil {
		p.has = make(map[string]bool, 2*askLength)
	}
	clear(p.has)
	p.tokens = tokens
	for i, t := range tokens {
		p.has[t] = true
		for _, c := range concepts()[t] {
			if follows(c.rest, tokens[i+1:]) {
				p.has[c.name] = true
			}
		}
		if strings.ContainsRune(t, '_') {
			for _, part := range strings.Split(t, "_") {
				if len(part) > 1 {
					p.has[canonical(part)] = true
				}
			}
		}
	}
}

// holds tells whether a form is in the piece.
func (p *piece) holds(f form) bool {
	if f.literal != "" {
		if p.text == "" {
			p.text = plain(strings.Join(p.lines, "\n"))
		}
		return written(p.text, f.literal)
	}
	if !p.has[f.seq[0]] {
		return false
	}
	if len(f.seq) == 1 {
		return true
	}
	for i, t := range p.tokens {
		if t == f.seq[0] && follows(f.seq[1:], p.tokens[i+1:]) {
			return true
		}
	}
	return false
}

// met is how a text meets an ask.
type met int

const (
	unmet  met = iota
	nearly     // it lacks one of at least three words
	fully
)

// ask calls each for every ask that the window meets somehow, with what its words say
// together.
func (x *Index) ask(w *window, p *piece, each func(trap int, info float64, how met)) {
	p.lines, p.text = w.lines, ""
	for from := 0; ; from += askLength / 2 {
		to := min(len(w.tokens), from+askLength)
		p.set(w.tokens[from:to])
		for t := range p.has {
			for _, a := range x.asks[t] {
				if info, how := x.meets(p, a); how != unmet {
					each(a.trap, info, how)
				}
			}
		}
		if to == len(w.tokens) {
			return
		}
	}
}

// meets tells how a piece meets an ask.
func (x *Index) meets(p *piece, a *ask) (info float64, how met) {
	missing := 0
	for _, slot := range a.slots {
		most := -1.0
		for _, f := range slot {
			if says := x.says(f); says > most && p.holds(f) {
				most = says
			}
		}
		if most < 0 {
			if missing++; missing > 1 || len(a.slots) < 3 {
				return 0, unmet
			}
			continue
		}
		info += most
	}
	switch {
	case slices.ContainsFunc(a.not, p.holds):
		return 0, unmet
	case missing > 0:
		return info, nearly
	}
	return info, fully
}

// ruledOut tells whether a line of absences rules the trap out in these lines.
func (x *Index) ruledOut(trap int, p *piece) bool {
	return slices.ContainsFunc(x.vetoes, func(a *ask) bool { return a.trap == trap && slices.ContainsFunc(a.not, p.holds) })
}

func follows(seq, rest []string) bool {
	return len(rest) >= len(seq) && slices.Equal(seq, rest[:len(seq)])
}

// written tells whether a number or version stands in text: 3.0 also as 3.0.6,
// and not as 13.0 or 3.01.
func written(text, number string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], number)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(number)
		if (i == 0 || !numeral(text[i-1]) || text[i-1] == 'v' && (i == 1 || !numeral(text[i-2]))) &&
			(end == len(text) || !numeral(text[end]) || text[end] == '.') {
			return true
		}
		from = i + 1
	}
}

// plain is text in lower case with a dash for all between letters, digits and
// dots.
func plain(s string) string {
	dash := false
	return strings.Map(func(r rune) rune {
		was := dash
		dash = false
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '.' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= utf8.RuneSelf:
			return r
		}
		if dash = true; was {
			return -1
		}
		return '-'
	}, s)
}

func numeral(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '.' || c == '_'
}

// askNearly is the most that an ask gets of which one word is missing: enough to
// name the trap as near.
const askNearly = Threshold - 0.05

// askValue puts what an ask's words say between 0 and 1: how much, and which
// share of all that the text says.
func askValue(info, all float64) float64 {
	return 1 / (1 + math.Exp(askOffset-askInfo*info-askShare*info/min(max(all, 1), askAll)))
}

// Fitted to the tuning half of testdata/strangers and to texts about other
// things (logistic regression), askOffset so that one of thirty is lost.
const (
	askOffset = 2.6
	askInfo   = 0.85
	askShare  = 15
	askAll    = 14 // who tells a story says other things too
)

// concept is one form of words for a concept.
type concept struct {
	name string
	rest []string // behind the first word
}

// concepts are what people say in many words, by the first of them.
var concepts = sync.OnceValue(func() map[string][]concept {
	m := map[string][]concept{}
	tk := tokenizer{}
	for name, words := range map[string]string{
		"@slow": `slow slowly slowness sluggish crawl lag laggy hang freeze stall stuck unresponsive forever ages minutes seconds delay latency
			pause takes taking took wait waits waiting long late performance throughput speed timeout timed-out spike unusable bad degrade worse poor`,
		"@fail": `fail failure failing error cannot can't cant couldn't unable refuse refused reject deny denied wrong broken break breaks broke problem trouble issue
			not no never don't dont doesn't doesnt won't wont isn't isnt didn't didnt stop stops stopped die dies died dead crash crashes unreachable timeout abort aborted
			nothing lost loses lose gone disappear drop dropped useless impossible ignore kaputt`,
		"@not": `not no never cannot can't cant couldn't don't dont doesn't doesnt won't wont isn't isnt didn't didnt without nothing none ` +
			`nobody fails failed fail unable missing stopped instead ignore ignored stop`,
		"@gone": `vanish disappear lost lose loses gone missing drop dropped deleted removed empty away nothing no without not wiped ` +
			`destroyed flushed expire`,
		"@full": `full fills filled filling space exhausted out ran-out limit exceeded overflow overflowed enospc reached room`,
		"@grow": `grow grows grown growing huge big large giant enormous gigabyte gigabytes gb gib tb mb fill fills filled filling filled-up size unlimited never unbounded
			limit eats eating consume consumes takes space full max rotate rotated rotation rotating`,
		"@net": `network networking internet connectivity connection connections connect traffic packet packets ping reach reachable unreachable access net lan wan online route routes outside
			gateway arp ip dhcp offline bridge`,
		"@guest": `vm vms guest guests kvm qemu libvirt virtual virtual-machine virt lxc lxd proxmox virsh pve incus hypervisor`,
		"@boot": `boot boots booted booting reboot rebooted rebooting restart restarted start startup starting starts power powercycle ` +
			`crash crashed shutdown`,
		"@after": `after since following because once when`,
		"@update": `update updates updated upgrade upgraded upgrades upgrading apt dist-upgrade install installed installing patch patches ` +
			`patched yum dnf`,
		"@same": `same identical duplicate duplicates duplicated shared share both conflict equal`,
		"@disk": `disk disks drive drives partition hdd ssd nvme sda sdb sdc volume lun storage device`,
		"@site": `site sites website websites page pages web download downloads ssh https http git curl tls handshake transfer transfers ` +
			`tcp connections`,
		"@cert":  `certificate certificates cert certs ssl tls ca issuer chain`,
		"@mem":   `memory ram mem`,
		"@log":   `log logs logfile logfiles logging syslog access.log messages`,
		"@clock": `clock time date hour hours`,
		"@sudden": `random randomly sometimes sporadic sporadically intermittent intermittently occasionally now-and-then sudden suddenly ` +
			`once-in-a-while at-times burst bursts load peak`,
	} {
		for _, w := range strings.Fields(words) {
			seq := tk.tokens(w)
			if len(seq) > 0 {
				m[seq[0]] = append(m[seq[0]], concept{name, seq[1:]})
			}
		}
	}
	return m
})

// questions are the words that a question begins with, as the tokenizer leaves
// them; "why" is left out, for who asks why complains.
var questions = map[string]bool{
	"how":    true,
	"what":   true,
	"which":  true,
	"should": true,
	"can":    true,
	"does":   true,
	"doe":    true,
	"is":     true,
	"do":     true,
}

// onlyAsks tells whether a text asks how to do something, and does not say that
// anything is wrong.
func onlyAsks(tokens []string) bool {
	how := slices.Index(tokens, "how")
	if len(tokens) == 0 ||
		!questions[tokens[0]] && (how < 0 || how+1 == len(tokens) || tokens[how+1] != "do" && tokens[how+1] != "to" && tokens[how+1] != "can") {
		return false
	}
	return !complains(tokens) && !slices.ContainsFunc(tokens, func(t string) bool {
		return t == "only" || slices.ContainsFunc(concepts()[t], func(c concept) bool { return complaints[c.name] })
	})
}

// complaints are the concepts of which each is one.
var complaints = map[string]bool{"@slow": true, "@fail": true, "@not": true, "@gone": true, "@full": true, "@sudden": true}
