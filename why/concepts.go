package why

import (
	"slices"
	"strings"
	"sync"
)

func follows(seq, rest []string) bool {
	return len(rest) >= len(seq) && slices.Equal(seq, rest[:len(seq)])
}

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

// onlyAsks reports whether a text asks how to do something, and does not say that
// anything is wrong.
func onlyAsks(tokens []string) bool {
	how := slices.Index(tokens, "how")
	if len(tokens) == 0 ||
		!questions[tokens[0]] && (how < 0 || how+1 == len(tokens) || tokens[how+1] != "do" && tokens[how+1] != "to" && tokens[how+1] != "can") {
		return false
	}
	return !isWrong(tokens)
}

// isWrong reports whether a text says that something is wrong, or hints at it.
func isWrong(tokens []string) bool {
	return complains(tokens) || slices.ContainsFunc(tokens, func(t string) bool {
		return t == "only" || slices.ContainsFunc(concepts()[t], func(c concept) bool { return complaints[c.name] })
	})
}

// complaints are the concepts of which each is one.
var complaints = map[string]bool{"@slow": true, "@fail": true, "@not": true, "@gone": true, "@full": true, "@sudden": true}

// isA reports whether a word is one of a concept's.
func isA(word, concept string) bool {
	for _, c := range concepts()[word] {
		if c.name == concept {
			return true
		}
	}
	return false
}
