package totp

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp"
	ptotp "github.com/pquerna/otp/totp"
	"rsc.io/qr"

	"fettle/internal/means"
)

var rfc = Secret{[]byte("12345678901234567890")} // RFC 4226 and RFC 6238, appendices

// TestRFC4226 is appendix D: decimal truncations and codes.
func TestRFC4226(t *testing.T) {
	for i, want := range []struct {
		decimal uint32
		code    string
	}{{1284755224, "755224"}, {1094287082, "287082"}, {137359152, "359152"}, {1726969429, "969429"}, {1640338314, "338314"},
		{868254676, "254676"}, {1918287922, "287922"}, {82162583, "162583"}, {673399871, "399871"}, {645520489, "520489"}} {
		if got := rfc.truncate(uint64(i)); got != want.decimal || rfc.Code(uint64(i)) != want.code {
			t.Errorf("counter %d: %d, %s; want %d, %s", i, got, rfc.Code(uint64(i)), want.decimal, want.code)
		}
	}
}

// TestRFC6238 is appendix B, SHA-1: eight digits of which the last six are ours.
func TestRFC6238(t *testing.T) {
	for unix, want := range map[int64]string{59: "94287082", 1111111109: "07081804", 1111111111: "14050471", 1234567890: "89005924",
		2000000000: "69279037", 20000000000: "65353130"} {
		at := time.Unix(unix, 0)
		if got := rfc.At(at, Step); got != want[2:] {
			t.Errorf("%d: %s, want %s", unix, got, want[2:])
		}
		if got := fmt.Sprintf("%08d", rfc.truncate(uint64(unix/Step))%100_000_000); got != want {
			t.Errorf("%d: %s, want %s", unix, got, want)
		}
	}
}

// TestOracles compares with oathtool and github.com/pquerna/otp.
func TestOracles(t *testing.T) {
	oathtool := means.Tool(t, "oathtool")
	for i := range 12 {
		s, err := NewSecret()
		if err != nil || s.Bits() != 160 {
			t.Fatal(err, s.Bits())
		}
		at := time.Unix(1_700_000_000+int64(i)*12_345_677, 0)
		step := []int{30, 60, 15}[i%3]
		ours := s.At(at, step)
		theirs, err := ptotp.GenerateCodeCustom(
			s.Base32(),
			at,
			ptotp.ValidateOpts{Period: uint(step), Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1},
		)
		if err != nil || ours != theirs {
			t.Errorf("pquerna/otp: %s, %v; ours %s", theirs, err, ours)
		}
		out, err := exec.Command(oathtool, "--totp", "-b", "-s", fmt.Sprint(step, "s"), "-N", fmt.Sprintf("@%d", at.Unix()), s.Base32()).
			Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != ours {
			t.Errorf("oathtool: %s, %v; ours %s", got, err, ours)
		}
		f, err := New(s, Settings{StepSize: step})
		if err != nil {
			t.Fatal(err)
		}
		key, err := otp.NewKeyFromURL(f.URI("web 1", "alice@b"))
		if err != nil || key.Secret() != s.Base32() || key.Issuer() != "web 1" || key.AccountName() != "alice@b" ||
			key.Period() != uint64(step) {
			t.Errorf("the URI is read as %v, %v", key, err)
		}
	}
}

func TestSearch(t *testing.T) {
	now := time.Unix(1_700_000_010, 0)
	for _, skew := range []int{0, 1, -1, 4, -200, Reach - 1, 1 - Reach} {
		got, ok := rfc.Search(rfc.At(now.Add(time.Duration(skew)*Step*time.Second), Step), now, Step)
		if !ok || got != skew {
			t.Errorf("%d steps: found %d, %v", skew, got, ok)
		}
	}
	if skew, ok := rfc.Search("00000x", now, Step); ok {
		t.Error("found what is no code, at ", skew)
	}
	if skew, ok := rfc.Search(rfc.Code(0), time.Unix(5*Step, 0), Step); !ok || skew != -5 {
		t.Errorf("the first code of all: %d, %v", skew, ok)
	}
	f, _ := New(rfc, Settings{})
	wide, _ := New(rfc, Settings{Window: 17})
	shifted := &File{Secret: rfc, Options: []Option{{"TIME_SKEW", "-5"}}}
	for skew, want := range map[int]string{0: "true true false", 1: "true true false", -1: "true true false", 2: "false true false",
		-2: "false true false", -8: "false true false", -9: "false false false",
		8: "false true false", 9: "false false false", -5: "false true true", -6: "false true true"} {
		if got := fmt.Sprint(f.Takes(skew), wide.Takes(skew), shifted.Takes(skew)); got != want {
			t.Errorf("%d: %s, want %s", skew, got, want)
		}
	}
}

func TestParseSecret(t *testing.T) {
	for in, want := range map[string]string{
		"gezd gnbv-GY3T QOJQ":       "GEZDGNBVGY3TQOJQ",
		"GEZDGNBVGY3TQOJQGE======":  "GEZDGNBVGY3TQOJQGE",
		"":                          "the secret is empty",
		" = ":                       "the secret is empty",
		"AZ27AZ27AZ27AZ27":          "AZ27AZ27AZ27AZ27",
		"GEZDGNBVGY3TQOJ8":          "the secret is not base32: its character 16 is not A to Z or 2 to 7",
		"GEZDGNBVGY3TQOJ@":          "the secret is not base32: its character 16 is not A to Z or 2 to 7",
		"GEZDGNBVGY3TQOJ[":          "the secret is not base32: its character 16 is not A to Z or 2 to 7",
		"GEZDGNBVGY3TQOJ1":          "the secret is not base32: its character 16 is not A to Z or 2 to 7",
		"GEZDGNBV":                  "the secret has 40 bits; less than 80 can be guessed",
		"GEZDGNBVGY3TQOJQG":         "the secret is not base32: 17 characters are not a whole number of bytes",
		"otpauth://totp/x?secret=A": "the secret is not base32: its character 8 is not A to Z or 2 to 7",
	} {
		s, err := ParseSecret(in)
		got := s.Base32()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestParseKey(t *testing.T) {
	const secret = "GEZDGNBVGY3TQOJQ"
	for in, want := range map[string]string{
		secret: "30",
		"otpauth://totp/A:b?secret=" + secret + "&issuer=A":  "30",
		"OTPAUTH://totp/b?period=60&secret=" + secret:        "60",
		"otpauth://hotp/b?counter=1&secret=" + secret:        `the URI is of type "hotp": fettle sets up totp`,
		"otpauth://totp/b?algorithm=SHA256&secret=" + secret: "the URI asks for SHA256: pam_google_authenticator supports SHA1 only",
		"otpauth://totp/b?digits=8&secret=" + secret:         "the URI asks for 8 digits: pam_google_authenticator supports 6 only",
		"otpauth://totp/b?period=300&secret=" + secret:       "the URI asks for codes of 300 s: pam_google_authenticator takes 1 to 60",
		"otpauth://totp/b":                    "the secret is empty",
		"GEZDGNBV":                            "the secret has 40 bits; less than 80 can be guessed",
		"otpauth://totp/%zz?secret=" + secret: "the otpauth URI cannot be read",
		"otpauth://totp/b?secret=" + secret + "!%21" + secret: "the secret is not base32: its character 17 is not A to Z or 2 to 7",
	} {
		s, step, err := ParseKey(in)
		got := fmt.Sprint(step)
		if err != nil {
			got = err.Error()
			if strings.Contains(got, secret) {
				t.Errorf("the error shows the secret: %s", got)
			}
		} else if s.Base32() != secret {
			t.Errorf("%q: secret %s", in, s.Base32())
		}
		if got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestSilent: nothing that prints a value prints the secret in it.
func TestSilent(t *testing.T) {
	f, err := New(rfc, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	js, _ := json.Marshal(f.Secret)
	all := fmt.Sprintf(
		"%v %+v %#v %s %q %d %x ",
		f.Secret,
		f.Secret,
		f.Secret,
		f.Secret,
		f.Secret,
		f.Secret,
		f.Secret,
	) + string(
		js,
	) + fmt.Sprintf(
		"%v %+v",
		f,
		*f,
	)
	for _, secret := range []string{rfc.Base32(), "1234567890", fmt.Sprintf("%x", rfc.raw), "49 50 51"} {
		if strings.Contains(all, secret) {
			t.Errorf("%s is in %s", secret, all)
		}
	}
}

func TestFile(t *testing.T) {
	f, err := New(rfc, Settings{Window: 17, StepSize: 60})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(f.Bytes()), "\n")
	want := []string{rfc.Base32(), `" RATE_LIMIT 3 30`, `" WINDOW_SIZE 17`, `" STEP_SIZE 60`, `" DISALLOW_REUSE`, `" TOTP_AUTH`}
	if len(lines) != len(want)+6 || strings.Join(lines[:len(want)], "\n") != strings.Join(want, "\n") {
		t.Fatalf("%q", lines)
	}
	again, err := Parse(f.Bytes())
	if err != nil || string(again.Bytes()) != string(f.Bytes()) || again.Window() != 17 || again.StepSize() != 60 ||
		len(again.Scratch) != 5 {
		t.Errorf("%v %v", again, err)
	}
	for text, want := range map[string]string{
		"":                            "it has 0 bytes; the module reads 1 to 65536",
		"GEZDGNBVGY3TQOJ1\n":          "line 1: the secret is not base32: its character 16 is not A to Z or 2 to 7",
		rfc.Base32() + "\n\x00":       "it holds a zero byte, and the module refuses it",
		rfc.Base32() + "\n12345678\n": `neither " TOTP_AUTH nor " HOTP_COUNTER is in it: only scratch codes would be taken`,
		rfc.Base32() + "\n\" TOTP_AUTH\n\" STEP_SIZE 90": "line 3: STEP_SIZE must be 1 to 60",
		rfc.Base32() + "\n\" RATE_LIMIT 3\n":             "line 2: RATE_LIMIT must be 1 to 100 attempts in 1 to 3600 seconds",
	} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if f, err := Parse([]byte(rfc.Base32() + "\r\n\" HOTP_COUNTER 7\r\n12345678\r\nnote\n87654321\n")); err != nil || !f.Counter() ||
		len(f.Scratch) != 1 ||
		!strings.Contains(f.URI("", "a"), "hotp/a?secret="+rfc.Base32()+"&counter=7") {
		t.Errorf("%v, %v", f, err)
	}
	for _, bad := range []Settings{{Window: 101}, {StepSize: 61}, {Window: -1}, {StepSize: -1}} {
		if _, err := New(rfc, bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	for range 20 { // whose scratch codes are all of eight digits
		f, err := New(rfc, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(f.Bytes()); err != nil || len(again.Scratch) != 5 {
			t.Errorf("%v, %v", again, err)
		}
	}
	for _, good := range []Settings{{Window: 100, StepSize: 1}, {Window: 1, StepSize: 60}} {
		if f, err := New(rfc, good); err != nil || f.Window() != good.Window || f.StepSize() != good.StepSize {
			t.Errorf("%+v: %+v, %v", good, f, err)
		}
	}
	if f := (&File{Options: []Option{{"WINDOW_SIZE", "x"}, {"STEP_SIZE", ""}}}); f.Window() != 3 || f.StepSize() != Step {
		t.Errorf("values that are no numbers are taken for %d and %d", f.Window(), f.StepSize())
	}
}

// TestBounds: a file that the module takes at the bounds of what it takes, and not beyond them.
func TestBounds(t *testing.T) {
	const totp = `" TOTP_AUTH`
	for line, ok := range map[string]bool{totp: true, "": false,
		`" HOTP_COUNTER 1`: true, `" HOTP_COUNTER 0`: false, `" HOTP_COUNTER -1`: false, `" HOTP_COUNTER 99999999999999999999`: false,
		totp + "\n\" RATE_LIMIT 1 1": true, totp + "\n\" RATE_LIMIT 100 3600": true, totp + "\n\" RATE_LIMIT 0 30": false,
		totp + "\n\" RATE_LIMIT 101 30": false, totp + "\n\" RATE_LIMIT 3 0": false, totp + "\n\" RATE_LIMIT 3 3601": false,
		totp + "\n\" RATE_LIMIT x 30": false, totp + "\n\" WINDOW_SIZE 1": true, totp + "\n\" WINDOW_SIZE 100": true,
		totp + "\n\" STEP_SIZE 0": false, totp + "\n\" STEP_SIZE 99999999999999999999": false,
		totp + "\n" + strings.Repeat("x", MaxFile-33-len(totp)-1): true, totp + "\n" + strings.Repeat("x", MaxFile-33-len(totp)): false,
	} {
		if _, err := Parse([]byte(rfc.Base32() + "\n" + line)); (err == nil) != ok {
			t.Errorf("%.60q: %v", line, err)
		}
	}
	if _, err := Parse([]byte("\x00")); err == nil || err.Error() != "it holds a zero byte, and the module refuses it" {
		t.Error(err)
	}
	for _, other := range []string{"02345678", "1234567", "1234567x", "note"} { // the module looks no further
		f, err := Parse([]byte(rfc.Base32() + "\n" + totp + "\n12345678\n" + other + "\n87654321\n"))
		if err != nil || len(f.Scratch) != 1 {
			t.Errorf("%s: %+v, %v", other, f, err)
		}
	}
}

func TestURI(t *testing.T) {
	f := &File{Secret: rfc}
	for issuer, want := range map[string]string{"": "otpauth://totp/al%20b?secret=" + rfc.Base32(),
		"web 1": "otpauth://totp/web%201:al%20b?secret=" + rfc.Base32() + "&issuer=web%201"} {
		if got := f.URI(issuer, "al b"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestPicture reads the drawn modules back.
func TestPicture(t *testing.T) {
	f := &File{Secret: rfc}
	uri := f.URI("web1", "alice")
	c, err := qr.Encode(uri, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	for _, bright := range []bool{false, true} {
		for _, utf8 := range []bool{false, true} {
			p, err := Picture(uri, utf8, bright, 80)
			if err != nil {
				t.Fatal(err)
			}
			var rows [][]rune
			for _, line := range strings.Split(strings.TrimSuffix(p, "\n"), "\n") {
				up, down := []rune{}, []rune{}
				for i, r := range []rune(line) {
					switch {
					case !utf8 && i%2 == 0:
						up = append(up, r)
					case utf8:
						up = append(up, map[rune]rune{'█': '#', '▀': '#', '▄': ' ', ' ': ' '}[r])
						down = append(down, map[rune]rune{'█': '#', '▀': ' ', '▄': '#', ' ': ' '}[r])
					}
				}
				rows = append(rows, up)
				if utf8 {
					rows = append(rows, down)
				}
			}
			if below := rows[c.Size+2*quiet:]; len(below) > 0 && strings.TrimSpace(string(below[0])) != "" {
				t.Errorf("bright %v: half a row below the picture is drawn", bright)
			}
			for y := -quiet; y < c.Size+quiet; y++ {
				for x := -quiet; x < c.Size+quiet; x++ {
					black := x >= 0 && y >= 0 && x < c.Size && y < c.Size && c.Black(x, y)
					if ink := rows[y+quiet][x+quiet] == '#'; ink != (black == bright) {
						t.Fatalf("utf8 %v, bright %v: module %d,%d is wrong", utf8, bright, x, y)
					}
				}
			}
		}
	}
	if _, err := Picture(uri, true, false, c.Size+2*quiet); err != nil {
		t.Errorf("as wide as the terminal: %v", err)
	}
	for text, want := range map[string]string{uri: fmt.Sprintf("the QR code is %d columns wide and the terminal 73", 2*(c.Size+2*quiet)),
		strings.Repeat("x", 10_000): "drawing the QR code: "} {
		if _, err := Picture(text, false, false, 73); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParseFile(f *testing.F) {
	f.Add("GEZDGNBVGY3TQOJQ\n\" RATE_LIMIT 3 30 1462548404\n\" TOTP_AUTH\n12345678\n")
	f.Add("A\n\" HOTP_COUNTER 1\n\" DISALLOW_REUSE 1 2")
	f.Fuzz(func(t *testing.T, s string) {
		g, err := Parse([]byte(s))
		if err != nil {
			return
		}
		again, err := Parse(g.Bytes())
		if err != nil || string(again.Bytes()) != string(g.Bytes()) {
			t.Errorf("%q is written as %q, %v", s, g.Bytes(), err)
		}
		g.Takes(1)
		g.URI("a", "b")
	})
}
