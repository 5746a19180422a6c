package meaning

import (
	"strings"
	"testing"
)

// samples are lines, and what is said of a word in each.
const samples = `foo.service: Main process exited, code=exited, status=203/EXEC => EXEC: the program could not be executed
foo.service: Main process exited, code=exited, status=226/NAMESPACE => NAMESPACE: the mount, UTS or IPC
foo.service: Main process exited, code=exited, status=78/CONFIG => CONFIG: by sysexits.h
foo.service: Main process exited, code=killed, status=9/KILL => SIGKILL: killed from outside
foo.service: Main process exited, code=dumped, status=11/SEGV => SIGSEGV: the program used memory that it may not use
LOG:  startup process (PID 27) was terminated by signal 6: Aborted => SIGABRT: the program ended itself
container died with exit code 137 => SIGKILL
sh: exited with code 127 => the command was not found
app[7]: segfault at 0 ip 00007f sp 00007f error 4 in libc.so.6 => read where nothing is mapped, at a null pointer
app[7]: segfault at 7f12 ip 00007f sp 00007f error 7 in libc.so.6 => wrote without the right to
bind() to 0.0.0.0:80 failed (98: Address already in use) => EADDRINUSE
open /x: too many open files in system => ENFILE
open /x: too many open files => EMFILE
write failed: ENOSPC => ENOSPC
probe of 1-1 failed with error -110 => ETIMEDOUT
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null) => a control group reached its memory limit
Out of memory: Killed process 18177 (palo_be) total-vm:1kB, anon-rss:45563572kB, file-rss:0kB => (it had 43.5 GiB
sd 0:0:0:0: [sda] tag#1 Sense Key : Medium Error [current] => a bad sector
sd 0:0:0:0: [sda] tag#1 Sense Key : 0x3 [current] => Medium Error
Sense: key=0x4 asc=0x44 ascq=0x0 => an internal failure of the drive
sd 0:0:0:0: [sda] tag#1 FAILED Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK => cannot reach the drive
ata1.00: error: { ICRC ABRT } => cable
ata1.00: error: { UNC } => could not read this place
ata2: SError: { PHYRdyChg CommWake LinkSeq } => frames
nvme0n1: I/O Cmd(0x2) @ LBA 1, I/O Error (sct 0x3 / sc 0x71) => aborted by the host
nvme nvme0: controller is down; will reset: CSTS=0xffffffff => no longer answers
nvme nvme2: I/O 0 QID 0 timeout, reset controller => the queue for administration
EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2 => e2fsck
XFS (sdb1): Metadata CRC error detected at xfs_agf => xfs_repair
BTRFS error (device sdc2): parent transid verify failed on logical 1 mirror 1 wanted 2 found 1 => another generation
EDAC MC0: 4 CE error on CPU#0Channel#2_DIMM#0 => ECC corrected
GET /x HTTP/1.1" 502 574 => Bad Gateway
upstream returned 504 Gateway Timeout => Gateway Timeout
to=<a@b.c>, relay=none, dsn=4.4.1, status=deferred (connect: Connection timed out) => refused for now: no answer from the host
host mx[1.2.3.4] said: 550 5.1.1 no such user => refused for good: there is no such mailbox
SSL_do_handshake() failed (SSL: error:14094416:SSL routines:alert certificate unknown:SSL alert number 46) => unknown certificate
http: TLS handshake error: remote error: tls: bad certificate => bad certificate
named[7]: query failed (SERVFAIL) for example.org/IN/A => could not find the answer
kinit: Clock skew too great while getting initial credentials => KRB_AP_ERR_SKEW
conn=1007 op=0 RESULT tag=97 err=49 text= => invalidCredentials
ldap_bind: Invalid credentials (49) => invalidCredentials`

// TestOf: words of real lines and what is said of them.
func TestOf(t *testing.T) {
	for row := range strings.Lines(samples) {
		line, want, _ := strings.Cut(strings.TrimSpace(row), " => ")
		got := Of(line, "")
		if len(got) == 0 {
			t.Errorf("%q: nothing, want %q", line, want)
			continue
		}
		all := ""
		for _, m := range got {
			all += m.Says + "\n"
			if m.Source == "" || m.Says == "" || strings.HasSuffix(m.Says, ".") || !strings.Contains(line, strings.TrimPrefix(m.Term, "HTTP ")) &&
				m.Term != "Killed process" && m.Term != "timeout" {
				t.Errorf("%q: %+v", line, m)
			}
		}
		if !strings.Contains(all, want) {
			t.Errorf("%q: %q, want %q", line, all, want)
		}
	}
	if got := Of("x", "D9B373ED-55a6-4feb-8242-e02dbe79a49c"); len(got) != 1 || !strings.Contains(got[0].Says, "failed state") {
		t.Errorf("%+v", got)
	}
}

// TestNoMeaningInvented: what looks like one of these words and is another thing is left alone.
func TestNoMeaningInvented(t *testing.T) {
	for _, line := range []string{
		"curl exited with code 217", "took 404 ms", "port 503 is open", "job status: 12", "root@10.0.0.1: Permission denied (publickey).",
		"EVERYTHING is fine", "offer REFUSED by the buyer", "alert internal error budget is fine", "answer 42", "5.1.1 of the manual says so",
		"error 4 of 5 was corrected", "version 1.0.2 (98 files)", "busy 13 times", "tls enabled", "key 0x3", "signal strength 11",
	} {
		if got := Of(line, ""); len(got) > 0 {
			t.Errorf("%q: %+v", line, got)
		}
	}
}
