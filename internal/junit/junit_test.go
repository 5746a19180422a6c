package junit

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"
	"time"
)

// suites are one with each kind of case, and one whose host has a nasty name.
func suites() (first, second Suite) {
	first = Suite{Name: "web1", Hostname: "web1", Timestamp: "2026-11-30T07:00:00", Time: Seconds(1500 * time.Millisecond)}
	first.Add(Case{Class: "fettle", Name: "clear", Time: "0.001"})
	first.Add(Case{Class: "fettle", Name: "found", Failure: &Message{Message: "a trap", Type: "warning", Text: "because"}})
	first.Add(Case{Class: "fettle", Name: "found too", Failure: &Message{Message: "another"}})
	first.Add(Case{Class: "fettle", Name: "unknown", Error: &Message{Message: "denied"}})
	first.Add(Case{Class: "fettle", Name: "not here", Skipped: &Message{Message: "no arrays"}, Out: "looked"})
	second = Suite{Name: `a<b>&"c"`, Time: Seconds(0)}
	second.Add(Case{Class: "fettle", Name: "broken", Error: &Message{Message: "<&>", Text: "x<y"}})
	return first, second
}

const bodies = `  <testsuite name="web1" hostname="web1" timestamp="2026-11-30T07:00:00" tests="5" failures="2" errors="1" skipped="1" time="1.500">
    <testcase classname="fettle" name="clear" time="0.001"></testcase>
    <testcase classname="fettle" name="found">
      <failure message="a trap" type="warning">because</failure>
    </testcase>
    <testcase classname="fettle" name="found too">
      <failure message="another"></failure>
    </testcase>
    <testcase classname="fettle" name="unknown">
      <error message="denied"></error>
    </testcase>
    <testcase classname="fettle" name="not here">
      <skipped message="no arrays"></skipped>
      <system-out>looked</system-out>
    </testcase>
  </testsuite>
  <testsuite name="a&lt;b&gt;&amp;&#34;c&#34;" tests="1" failures="0" errors="1" skipped="0" time="0.000">
    <testcase classname="fettle" name="broken">
      <error message="&lt;&amp;&gt;">x&lt;y</error>
    </testcase>
  </testsuite>
</testsuites>
`

func TestWrite(t *testing.T) {
	first, second := suites()
	all := Suites{Name: "fettle", Time: Seconds(2 * time.Second)}
	all.Add(first)
	all.Add(second)
	if all.Skipped != 1 {
		t.Errorf("%d skipped", all.Skipped)
	}
	var b strings.Builder
	if err := all.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := xml.Header + `<testsuites name="fettle" tests="6" failures="2" errors="2" time="2.000">` + "\n" + bodies
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestStream writes the same suites, one by one.
func TestStream(t *testing.T) {
	first, second := suites()
	var b strings.Builder
	s := NewStream(&b, `a "fleet" & more`)
	if b.Len() > 0 {
		t.Errorf("wrote %q before there was anything to write", b.String())
	}
	if err := errors.Join(s.Add(first), s.Add(second), s.End()); err != nil {
		t.Fatal(err)
	}
	if want := xml.Header + `<testsuites name="a &#34;fleet&#34; &amp; more">` + "\n" + bodies; b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := NewStream(&b, "none").End(); err != nil || b.String() != xml.Header+"<testsuites name=\"none\">\n</testsuites>\n" {
		t.Errorf("of no suite: %q, %v", b.String(), err)
	}
}

// full takes so many writes, then the disk has no room.
type full struct{ writes int }

var errFull = errors.New("no space left")

func (f *full) Write(b []byte) (int, error) {
	if f.writes--; f.writes < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// hiccup takes all but the first write.
type hiccup struct{ writes int }

func (h *hiccup) Write(b []byte) (int, error) {
	if h.writes++; h.writes == 1 {
		return 0, errFull
	}
	return len(b), nil
}

func TestFullDiskIsTold(t *testing.T) {
	first, _ := suites()
	var all Suites
	all.Add(first)
	if err := all.Write(&full{}); !errors.Is(err, errFull) {
		t.Errorf("a document: %v", err)
	}
	for room, said := range map[int][]bool{0: {true, true, true}, 1: {true, true, true}, 2: {false, true, true}, 3: {false, false, true},
		4: {}} {
		s := NewStream(&full{room}, "x")
		for i, err := range []error{s.Add(first), s.Add(first), s.End()} {
			if want := len(said) > 0 && said[i]; errors.Is(err, errFull) != want {
				t.Errorf("room for %d writes, call %d: %v", room, i, err)
			}
		}
	}
	if err := NewStream(&hiccup{}, "x").Add(first); !errors.Is(err, errFull) {
		t.Errorf("no room for the beginning, and for the rest there is: %v", err)
	}
	if err := NewStream(&full{}, "x").End(); !errors.Is(err, errFull) {
		t.Errorf("an empty stream: %v", err)
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0.000", 1234567 * time.Microsecond: "1.235", 90 * time.Minute: "5400.000"} {
		if got := Seconds(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
