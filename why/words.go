package why

import (
	"strings"
	"sync"
)

// stop words say nothing about a problem. (Made when first needed: a check
// needs none of this.)
var stop = sync.OnceValue(func() map[string]bool {
	return set(`a about above after again all almost already also although always am an and another any anybody anyone anything are
around as at away back be became because become been before being below besides between both but by bye came can cannot come comes could
did do does doing don done down during each either else enough etc even ever every everybody everyone everything few for from gave get gets getting give given go goes going gone
got had has have having he help her here hers hi him his hope how however i if in into is it its itself just kind know last later least less let
like likely little ll look lot lots made make makes making many may maybe me mean might mine more morning most much must my near need needs never next no nobody none nor
not nothing now of off often ok on once one only onto or other others our ours out over own per perhaps please put puts quite rather re really
regards said same saw say says see seem seems seen shall she should show shows since so some somebody somehow someone something sometimes soon still such sure
take taken takes than thank thanks that the their them themselves then there these they thing things think this those though through till to today
together told too took toward tried tries try trying two under until up upon us use used uses using ve very via want wants was way we well
went were what whatever when whenever where whether which while who whole whom whose why will with within without won work worked works
would yes yesterday yet you your yours ago minute hour day week month year night s t d m re jan feb mar apr jun jul aug sep oct nov dec mon tue wed thu fri sat sun
cat echo grep ls sudo root etc usr bin sbin lib com org net www http https ne doesn didn isn aren wasn couldn wouldn shouldn hasn haven`)
})

// common words occur in too many messages to say much by themselves; together they
// say something. Their weight is commonWeight.
var common = sync.OnceValue(func() map[string]bool {
	return set(
		`able access add added adding address allow answer apply attach attempt available bad block blocked boot box break broken bug bus byte call
change changed channel check class clear client close closed cold comm command config configuration configure connect connected connection copy core correct count cpu
create created current daemon data database debug default defer delay deny denied dev device detail dir directory disable disabled disk display drop dump
empty enable enabled end entered entry err error event exist exit exited expect expire fail failed failure fast fatal file filesystem fix flag folder
force found free full function gateway general global good group guest guid handle hang happen hard hardware high hint hit hold home host
id idle image info information input install instead interface internal invalid ip iface issue item job keep kernel key kill killed kvm large level library
limit line link linux list load local lock log loss lost low machine main manager map max maximum memory merge message min minimum miss mode module mount move multiple
name network new node normal notice null number old online open opened operation option order output package packet page parameter part partition pass path permission persistent pid
ping point port present print privilege problem proc process program queue range read reading reason receive reboot request require reset
resource respond response result return right role route router rule run running save script second secure send server service session set setting share
sign signal size sleep slow small socket software source space stall start started state status stay step stop storage store stuck success support switch sys system table
target task temporary test text thread time timeout token tool total traffic turn type unable unit unknown unreachable update upgrade usage user
value var variable verify version view virtual vm wait warn warning wrong write writing written x year zero debian ubuntu fedora redhat server sda sdb eth lan wan conf srv opt tmp daemon systemd qemu docker container virt libvirt hypervisor
app argument bash busy find current currently due report ssh scp curl wget nginx apache mysql postgres rtnetlink sysctl restart gb mb kb tb hint touch dhcp card
return hour hand tool shell git sh terminal mail cache copy machine backup mapper avail quota superblock inode session owner seem guest log
reach rest month fine pull inside broken lose half two expected help desk live usual cause half show identical equal running hard gone left`,
	)
})

// trouble words are those of which a line of a log says that something is wrong.
var trouble = sync.OnceValue(func() map[string]bool {
	return set(
		`fail failed failure error fatal critical emergency alert panic oops bug fault denied deny refused reject rejected cannot couldn unable
timeout timed full overflow overflowed drop dropped kill killed oom exceeded exceeds lost loss corrupt corruption invalid expired missing unstable
mismatch degraded stuck exhausted abort aborted hung hang blocked stall unreachable unsynchronized too martian half flooding bad broken stepped
wrong skew insufficient missed slow skipping inconsistent incomplete remounting readonly faulty unreadable uncorrectable corrected unsupported
omitted smaller starved unsafe violated unexpected misconf warning enospc`,
	)
})

const commonWeight = 0.25

// enospcWeight: alone, the message makes the trap one possibility of several
// (inodes, quotas, inotify, a disk that is plainly full); beside other words it
// says little.
const enospcWeight = 0.57

func set(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
		m[canonical(w)] = true
	}
	return m
}

// background is how much a word says, whatever the traps: nothing, little, or
// one; kernel names with an underscore say more.
func background(w string) float64 {
	switch {
	case len(w) < 2 || stop()[w]:
		return 0
	case common()[w]:
		return commonWeight
	case w == enospc:
		return enospcWeight
	case strings.ContainsRune(w, '_'):
		return 1.3
	case isDisk(w):
		return commonWeight / 2
	}
	return 1
}

// isDisk knows the kernel's names of disks, partitions and arrays.
func isDisk(w string) bool {
	for _, p := range []string{"sd", "vd", "hd", "xvd", "nvme", "md", "dm"} {
		if rest, ok := strings.CutPrefix(w, p); ok && rest != "" {
			if p == "sd" || p == "vd" || p == "hd" || p == "xvd" {
				return len(rest) <= 4 && strings.Trim(rest[1:], "0123456789") == ""
			}
			return rest[0] >= '0' && rest[0] <= '9'
		}
	}
	return false
}

// stem cuts the endings of English that make one word two: plurals, -ing,
// -ed, and a last e. It is lighter than Porter's, which maps too many
// technical words on each other.
func stem(w string) string {
	if len(w) < 4 || strings.ContainsAny(w, "_0123456789") {
		return w
	}
	switch {
	case w == "locale" || w == "locales": // not what is local
		return "locale"
	case w == "ldaps": // not several
		return w
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "xes"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	if len(w) > 4 && strings.HasSuffix(w, "eed") {
		w = w[:len(w)-1] // freed → free
	}
	for _, end := range []string{"ing", "ed"} {
		if root, ok := strings.CutSuffix(w, end); ok && len(root) >= 3 && strings.ContainsAny(root, "aeiouy") {
			if n := len(root); n > 3 && root[n-1] == root[n-2] && !strings.ContainsRune("lsz", rune(root[n-1])) {
				root = root[:n-1] // dropped → drop
			}
			w = root
			break
		}
	}
	if len(w) > 4 {
		w = strings.TrimSuffix(w, "e")
	}
	if len(w) > 4 && strings.HasSuffix(w, "y") {
		w = w[:len(w)-1] + "i"
	}
	return w
}

// synonyms are stems that people use for one another in reports of trouble.
var synonyms = map[string]string{
	"remov": "delet", "rm": "delet", "eras": "delet", "unlink": "delet",
	"disappear": "vanish", "gone": "vanish", "lost": "vanish", "lose": "vanish",
	"stall": "hang", "freez": "hang", "frozen": "hang", "stuck": "hang",
	"vm": "guest", "ram": "memori", "nic": "interfac", "iface": "interfac",
	"ras": "ra", "autoconfiguration": "autoconf", "vms": "guest", "gig": "gb", "cant": "cannot",
	"slow": "slowli", "dropp": "drop", "overwritten": "overwrit",
}

// canonical is a word's stem, or that of its synonym.
func canonical(w string) string {
	w = stem(w)
	if s, ok := synonyms[w]; ok {
		return s
	}
	return w
}
