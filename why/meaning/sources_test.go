package meaning

import (
	"crypto/tls"
	nethttp "net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// header reads a file that a package of headers brings.
func header(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		means.Missing(t, err.Error()+": nothing to compare with")
	}
	return string(b)
}

// TestSystemdExits compares with systemd's own table, which has to have each of ours, and of
// which we have to have all that this systemd knows.
func TestSystemdExits(t *testing.T) {
	out, err := exec.Command("systemd-analyze", "exit-status").Output()
	if err != nil {
		means.Missing(t, "systemd-analyze exit-status: "+err.Error())
	}
	ours := map[int]string{}
	for n, e := range SystemdExits {
		ours[n] = e.Name
	}
	for n, e := range LSBExits {
		ours[n] = e.Name
	}
	theirs := map[int]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		if n, err := strconv.Atoi(f[1]); err == nil && n > 0 {
			theirs[n] = f[0]
		}
	}
	if len(theirs) < 50 {
		t.Fatalf("systemd lists %d exit statuses", len(theirs))
	}
	for n, name := range theirs {
		if ours[n] == "" && name != "EXCEPTION" {
			t.Errorf("%d/%s is missing", n, name)
		} else if ours[n] != name && name != "EXCEPTION" {
			t.Errorf("%d is %s, systemd calls it %s", n, ours[n], name)
		}
	}
	for n, name := range ours {
		if theirs[n] == "" {
			t.Errorf("systemd knows no %d/%s", n, name)
		}
	}
}

func TestSignals(t *testing.T) {
	for n, s := range Signals {
		if got := unix.SignalName(syscall.Signal(n)); got != s.Name {
			t.Errorf("%d is %s, the system calls it %s", n, s.Name, got)
		}
	}
}

// TestErrnos compares names with the kernel's headers by way of x/sys, and texts with the C library's.
func TestErrnos(t *testing.T) {
	for n, e := range Errnos {
		name := unix.ErrnoName(syscall.Errno(n))
		if name != e.Name && (e.Name != "EOPNOTSUPP" || name != "ENOTSUP") && (e.Name != "EUCLEAN" || name != "EFSCORRUPTED") {
			t.Errorf("%d is %s, the system calls it %s", n, e.Name, name)
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		means.Missing(t, "python3, to ask the C library")
	}
	out, err := exec.Command(python, "-c", "import os\nfor n in range(1,134): print(n, os.strerror(n), sep='\\t')").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		number, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
		n, _ := strconv.Atoi(number)
		if e, ok := Errnos[n]; ok && e.Text != text {
			t.Errorf("%s: %q, the C library prints %q", e.Name, e.Text, text)
		}
	}
}

// TestSenseKeys compares with the names in scsi/scsi.h.
func TestSenseKeys(t *testing.T) {
	text := header(t, "/usr/include/scsi/scsi.h")
	found := 0
	for _, m := range regexp.MustCompile(`#define (\w+) +0x0([0-9a-f])\b`).FindAllStringSubmatch(sensePart(text), -1) {
		n, _ := strconv.ParseInt(m[2], 16, 8)
		found++
		if want := strings.ReplaceAll(strings.ToLower(m[1]), "_",
			" "); !strings.EqualFold(SenseKeys[n].Name, want) && want != "volume overflow" {
			t.Errorf("%#x is %q, scsi.h calls it %q", n, SenseKeys[n].Name, want)
		}
	}
	if found < 12 {
		t.Errorf("scsi.h has %d sense keys", found)
	}
}

func sensePart(text string) string {
	_, text, _ = strings.Cut(text, "SENSE KEYS")
	text, _, _ = strings.Cut(text, "DEVICE TYPES")
	return text
}

// TestSenseCodes asks sg_decode_sense for each code: what it says must have a word of ours, or
// be the same failure in other words.
func TestSenseCodes(t *testing.T) {
	if _, err := exec.LookPath("sg_decode_sense"); err != nil {
		means.Missing(t, "sg_decode_sense (sg3-utils)")
	}
	for code, says := range senseCodes {
		asc, ascq, _ := strings.Cut(code, "/")
		out, err := exec.Command("sg_decode_sense", "70", "00", "03", "00", "00", "00", "00", "0a", "00", "00", "00", "00", asc, ascq,
			"00", "00", "00", "00").CombinedOutput()
		_, theirs, ok := strings.Cut(string(out), "Additional sense: ")
		if theirs = strings.TrimSpace(theirs); err != nil || !ok {
			t.Fatalf("%s: %v: %s", code, err, out)
		}
		theirs, _, _ = strings.Cut(theirs, "\n")
		if !shareAWord(says, theirs) {
			t.Errorf("%s: we say %q, sg_decode_sense %q", code, says, theirs)
		}
	}
}

// same are words that say the same in our sentences and in others' names.
var same = map[string]string{"access": "access", "addressed": "communicate", "manual": "somebody", "intervention": "act",
	"prediction": "predicts",
	"reported":   "changed", "opcode": "command", "operation": "command", "lba": "address", "cdb": "command", "protected": "write",
	"reallocate": "spare",
	"auto":       "reallocated", "luns": "units", "diagnostic": "memory", "target": "internal", "present": "medium",
	"supported": "logical",
	"seek":      "positioning"}

func shareAWord(ours, theirs string) bool {
	ours = strings.ToLower(ours)
	for _, w := range regexp.MustCompile(`[a-z]+`).FindAllString(strings.ToLower(theirs), -1) {
		if len(w) > 2 && strings.Contains(ours, w) || same[w] != "" && strings.Contains(ours, same[w]) {
			return true
		}
	}
	return false
}

func TestHTTP(t *testing.T) {
	for n, e := range HTTP {
		if got := nethttp.StatusText(n); got != e.Name {
			t.Errorf("%d is %q, Go calls it %q", n, e.Name, got)
		}
	}
}

func TestAlerts(t *testing.T) {
	for n, e := range Alerts {
		got := strings.TrimPrefix(tls.AlertError(n).Error(), "tls: ")
		if got != e.Name {
			t.Errorf("%d is %q, Go calls it %q", n, e.Name, got)
		}
	}
}

func TestRcodes(t *testing.T) {
	theirs := map[int]string{1: "RCodeFormatError", 2: "RCodeServerFailure", 3: "RCodeNameError", 4: "RCodeNotImplemented",
		5: "RCodeRefused"}
	for n, want := range theirs {
		if got := dnsmessage.RCode(n).GoString(); got != "dnsmessage."+want || Rcodes[n].Name == "" {
			t.Errorf("%d is %s, we have %q", n, got, Rcodes[n].Name)
		}
	}
}

// TestKerberos compares numbers with krb5.h and texts with MIT's library.
func TestKerberos(t *testing.T) {
	text := header(t, "/usr/include/krb5/krb5.h")
	// The library's numbers begin at ERROR_TABLE_BASE_krb5, the protocol's at 0.
	base := int64(-1765328384)
	found := 0
	for _, m := range regexp.MustCompile(`#define KRB5(KDC_ERR|KRB_AP_ERR|KRB_ERR|`+
		`_)?_?(\w+) +\((-\d+)L\)`).FindAllStringSubmatch(text, -1) {
		v, _ := strconv.ParseInt(m[3], 10, 64)
		n := int(v - base)
		e, ok := Kerberos[n]
		if !ok {
			continue
		}
		found++
		ends := e.Name[strings.LastIndex(e.Name, "ERR_")+4:]
		if name := m[1] + "_" + m[2]; !strings.Contains(name, ends) && !strings.Contains(kerberosNames[ends], m[2]) {
			t.Errorf("%d is %s, krb5.h calls it %s", n, e.Name, name)
		}
	}
	if found < len(Kerberos)-2 {
		t.Errorf("krb5.h has %d of %d", found, len(Kerberos))
	}
}

// kerberosNames are those of the library where they differ from the RFC's.
var kerberosNames = map[string]string{"ETYPE_NOTSUPP": "ETYPE_NOSUPP", "KEY_EXPIRED": "KEY_EXP", "GENERIC": "GENERIC"}

// TestLDAP compares numbers with ldap.h.
func TestLDAP(t *testing.T) {
	text := header(t, "/usr/include/ldap.h")
	theirs := map[int][]string{}
	for _, m := range regexp.MustCompile(`#define LDAP_(\w+)\s+(0x[0-9a-f]+|\d+)\b`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseInt(m[2], 0, 32)
		theirs[int(n)] = append(theirs[int(n)], strings.ReplaceAll(strings.ToLower(m[1]), "_", ""))
	}
	short := map[string]string{"authMethodNotSupported": "authmethodnotsupported", "strongerAuthRequired": "strongauthrequired",
		"attributeOrValueExists": "typeorvalueexists", "invalidAttributeSyntax": "invalidsyntax",
		"inappropriateAuthentication": "inappropriateauth",
		"insufficientAccessRights":    "insufficientaccess", "entryAlreadyExists": "alreadyexists"}
	for n, e := range LDAP {
		want := short[e.Name]
		if want == "" {
			want = strings.ToLower(e.Name)
		}
		if !strings.Contains(" "+strings.Join(theirs[n], " ")+" ", " "+want+" ") {
			t.Errorf("%d is %s, ldap.h has %v", n, e.Name, theirs[n])
		}
	}
}

// TestCatalogue compares with systemd's own catalogue.
func TestCatalogue(t *testing.T) {
	text := header(t, "/usr/lib/systemd/catalog/systemd.catalog")
	for id, e := range Catalogue {
		_, rest, ok := strings.Cut(text, "-- "+id+"\nSubject: ")
		subject, _, _ := strings.Cut(rest, "\n")
		if !ok || !strings.Contains(subject, e.Name) {
			t.Errorf("%s is %q, systemd calls it %q", id, e.Name, subject)
		}
	}
}
