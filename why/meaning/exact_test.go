package meaning

import (
	"strings"
	"testing"
)

// TestExact: all that is said of a line, each word with the beginning of what is said of it, and nothing else.
func TestExact(t *testing.T) {
	for line, want := range map[string]string{
		// Kerberos: by its symbol; by its text, where the line is about Kerberos; a clock's skew always is.
		"krb5_child: KDC_ERR_PREAUTH_FAILED":               "KDC_ERR_PREAUTH_FAILED=the password, or the key",
		"KRB_AP_ERR_SKEW":                                  "KRB_AP_ERR_SKEW=the clocks of client and KDC",
		"KDC_ERR_NOBODY_KNOWS_IT":                          "",
		"kinit: Password has expired":                      "Password has expired=KDC_ERR_KEY_EXPIRED",
		"gss: server not found in Kerberos database":       "server not found in Kerberos database=KDC_ERR_S_PRINCIPAL_UNKNOWN",
		"kinit: Client 'x' not found in Kerberos database": "not found in Kerberos database=KDC_ERR_C_PRINCIPAL_UNKNOWN",
		"Clock skew too great":                             "Clock skew too great=KRB_AP_ERR_SKEW",
		"login: Preauthentication failed":                  "Preauthentication failed=KDC_ERR_PREAUTH_FAILED",
		"the shop says: Password has expired":              "",
		"the cinema: Ticket expired":                       "",
		"kinit works":                                      "",
		// LDAP: by its number behind RESULT or in brackets; by its text.
		"conn=1 op=0 RESULT tag=97 err=32 text=": "err=32=noSuchObject: ",
		"ldap_search: Somehow failed (53)":       "(53)=unwillingToPerform: ",
		"slapd: Invalid DN syntax":               "Invalid DN syntax=invalidDNSyntax: ",
		"ldapadd: already exists":                "already exists=entryAlreadyExists: ",
		"slapd starting":                         "",
		"the entry: Already exists":              "",
		"conn=1 op=0 RESULT tag=97 err=0 text=":  "",
		// DNS, HTTP, mail, TLS.
		"unbound: query REFUSED":               "REFUSED=the server does not answer this client",
		"NXDOMAIN":                             "NXDOMAIN=the name does not exist",
		"HTTP/1.1 503 for x":                   "HTTP 503=Service Unavailable: ",
		`"GET / HTTP/1.1" 404 12`:              "HTTP 404=Not Found: ",
		"429 Too Many Requests":                "HTTP 429=Too Many Requests: ",
		"HTTP 499":                             "",
		"dsn=5.1.1, said: 550 no":              "said: 550=|5.1.1=refused for good: there is no such mailbox",
		"dsn=2.0.0, status=sent":               "",
		"said: 250 ok":                         "",
		"SSL alert number 40":                  "SSL alert number 40=handshake failure: ",
		"SSL alert number 255":                 "",
		"remote error: tls: handshake failure": "tls: handshake failure=handshake failure: ",
		"x509: red alert handshake failure":    "alert handshake failure=handshake failure: ",
		"alert handshake failure in the lift":  "",
		"tls: fine by me":                      "",
		// Disks.
		"Sense Key : Not Ready [current]":                   "Sense Key : Not Ready=Not Ready: ",
		"Sense Key : 0xb":                                   "Sense Key : 0xb=Aborted Command: ",
		"Sense: key=0x3 asc=0x11 ascq=0x0":                  "asc=0x11 ascq=0x0=",
		"asc=0x11 ascq=0xfe":                                "",
		"Add. Sense: Unrecovered read error":                "Add. Sense: Unrecovered read error=",
		"Add. Sense: Something else":                        "",
		"hostbyte=DID_NO_CONNECT":                           "hostbyte=DID_NO_CONNECT=",
		"hostbyte=DID_OK":                                   "",
		"ata1.00: error: { UNC }":                           "error: { UNC }=UNC: ",
		"(sct 0x3 / sc 0x71)":                               "sct 0x3 / sc 0x71=",
		"(sct 0x9 / sc 0x99)":                               "",
		"nvme0: I/O 5 QID 0 timeout":                        "timeout=the controller did not answer a command of the queue for administration",
		"nvme0: I/O tag 5 (1005) opcode 0x2 QID 3 timeout":  "timeout=the controller did not answer a command of a queue for data",
		"nvme0: Device not ready; aborting reset, CSTS=0x1": "Device not ready; aborting reset=",
		"nvme0: Removing after probe failure status: -19":   "Removing after probe failure status: -19=",
		"EDAC MC0: 1 UE on x":                               "EDAC MC0: 1 UE=UE: ",
		"loop: Write error at byte offset 4096, length 512": "loop: Write error at byte offset 4096=",
		// Memory.
		"Memory cgroup out of memory: Kill process 12 (java) x": "Memory cgroup out of memory=a control group|Killed process=the OOM " +
			"killer chose java",
		"Killed process 1 (a) total-vm:1kB, anon-rss:1572864kB": "Killed process=the OOM killer chose a, the process whose end frees " +
			"most; it need not be the one that grew (it had 1.5 GiB of its own)",
		"Killed process 1 (a)": "Killed process=the OOM killer chose a, the process whose end frees most; it need not " +
			"be the one that grew",
		"java invoked oom-killer: gfp_mask=0x1": "invoked oom-killer=java asked for memory",
		"[ pid ]   uid  tgid total_vm      rss": "total_vm, rss=the table of processes",
		"oom_reaper: reaped process 12 (java)":  "oom_reaper: reaped process=the killed process's memory was taken back",
		"constraint=CONSTRAINT_ODD":             "",
		// Signals and exits.
		"a.service: code=killed, status=15/TERM": "code=killed, status=15/TERM=SIGTERM: ",
		"a.service: code=killed, signal=TERM":    "code=killed, signal=TERM=SIGTERM: ",
		"code=dumped, status=6/ABRT": "code=dumped, status=6/ABRT=SIGABRT: the program ended itself because it found " +
			"something impossible; what it printed before says what; coredumpctl info",
		"code=killed, status=99/ODD": "",
		"segfault at fff ip 0 sp 0 error 4 in a": "segfault at fff ip 0 sp 0 error 4=SIGSEGV: the program read where nothing is " +
			"mapped, at a null pointer",
		"segfault at 1000 ip 0 sp 0 error 4 in a":  "segfault at 1000 ip 0 sp 0 error 4=SIGSEGV: the program read where nothing is mapped!",
		"segfault at 1000 ip 0 sp 0 error 6 in a":  "segfault at 1000 ip 0 sp 0 error 6=SIGSEGV: the program wrote where nothing is mapped!",
		"segfault at 1000 ip 0 sp 0 error 15 in a": "segfault at 1000 ip 0 sp 0 error 15=SIGSEGV: the program ran code without the right to!",
		"exited with status 143":                   "exited with status 143=SIGTERM: ",
		"exit code: 129":                           "exit code: 129=SIGHUP: ",
		"terminated by signal 9":                   "terminated by signal 9=SIGKILL: ",
		"it got <SEGV>":                            "<SEGV>=SIGSEGV: ",
		"code=exited, status=200/CHDIR":            "status=200/CHDIR=CHDIR: ",
		"code=exited, status=200":                  "code=exited, status=200=CHDIR: ",
		"code=exited, status=5/NOTINSTALLED":       "status=5/NOTINSTALLED=",
		"exit status 126":                          "exit status 126=",
		"exit status 3":                            "",
		// Errors of system calls.
		"Permission denied":                            "Permission denied=EACCES: ",
		"open: permission denied":                      "permission denied=EACCES: ",
		"a@b: Permission denied (publickey,password).": "",
		"Permission denied, please try again.":         "",
		"write: ENOSPC and EIO":                        "ENOSPC=|EIO=",
		"errno=28":                                     "errno=28=if it is an errno, ENOSPC (No space left on device): ",
		"failed with error -5":                         "with error -5=if it is an errno, EIO ",
		"returned -28":                                 "returned -28=if it is an errno, ENOSPC ",
		"error 28":                                     "",
		"errno 999":                                    "",
	} {
		var all []string
		got := Of(line, "")
		for _, m := range got {
			all = append(all, m.Term+"="+m.Says)
		}
		wants := strings.FieldsFunc(want, func(r rune) bool { return r == '|' })
		ok := len(wants) == len(got)
		for i := 0; ok && i < len(wants); i++ {
			whole, exact := strings.CutSuffix(wants[i], "!")
			ok = strings.HasPrefix(all[i], whole) && (!exact || all[i] == whole)
		}
		if !ok {
			t.Errorf("%q:\ngot  %q\nwant %q", line, all, wants)
		}
	}
}

// TestOnce: of one message no more than three words are explained, none twice, and its MESSAGE_ID too where there is room.
func TestOnce(t *testing.T) {
	if got := Of("ENOSPC EIO EPERM ENOENT", ""); len(got) != most {
		t.Errorf("%+v", got)
	}
	if got := Of("ENOSPC and ENOSPC: No space left on device", ""); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	const id = "fe6faa94e7774663a0da52717891d8ef" // the OOM killer (systemd.catalog)
	for text, want := range map[string]int{"x": 1, "EIO": 2, "ENOSPC EIO EPERM": most} {
		if got := Of(text, id); len(got) != want || want < most && got[want-1].Term != "MESSAGE_ID="+id {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := Of("x", "0"); got != nil {
		t.Errorf("an unknown MESSAGE_ID: %+v", got)
	}
}
