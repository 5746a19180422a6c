// Package junit writes JUnit XML, in the form that Jenkins and GitLab expect.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// Suites is a whole document.
type Suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"-"`         // Jenkins's schema (xunit-plugin, junit-10.xsd) has it of suites only
	Time     string   `xml:"time,attr"` // seconds
	Suites   []Suite  `xml:"testsuite"`
}

// Suite is one suite; Add counts its cases.
type Suite struct {
	Name      string `xml:"name,attr"`
	Hostname  string `xml:"hostname,attr,omitempty"`
	Timestamp string `xml:"timestamp,attr,omitempty"`
	Tests     int    `xml:"tests,attr"`
	Failures  int    `xml:"failures,attr"`
	Errors    int    `xml:"errors,attr"`
	Skipped   int    `xml:"skipped,attr"`
	Time      string `xml:"time,attr"`
	Cases     []Case `xml:"testcase"`
}

// Case is one test: at most one of Failure, Error and Skipped is set.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr,omitempty"`
	Failure *Message `xml:"failure"`
	Error   *Message `xml:"error"`
	Skipped *Message `xml:"skipped"`
	Out     string   `xml:"system-out,omitempty"`
}

// Message says why a test did not pass.
type Message struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Add adds a case and counts it.
func (s *Suite) Add(c Case) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	s.Failures += one(c.Failure)
	s.Errors += one(c.Error)
	s.Skipped += one(c.Skipped)
}

// Add adds a suite and its counts.
func (s *Suites) Add(one Suite) {
	s.Suites = append(s.Suites, one)
	s.Tests += one.Tests
	s.Failures += one.Failures
	s.Errors += one.Errors
	s.Skipped += one.Skipped
}

// Write writes the document.
func (s *Suites) Write(w io.Writer) error {
	b, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	return err
}

// Stream writes a document suite by suite, and so without the sums that would stand
// before them; readers add up the suites.
type Stream struct {
	w     io.Writer
	name  string
	began bool
}

// NewStream begins a document.
func NewStream(w io.Writer, name string) *Stream { return &Stream{w: w, name: name} }

// Add writes a suite.
func (s *Stream) Add(one Suite) error {
	if err := s.begin(); err != nil {
		return err
	}
	b, err := xml.MarshalIndent(struct {
		XMLName xml.Name `xml:"testsuite"`
		Suite
	}{Suite: one}, "  ", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.w, "%s\n", b)
	return err
}

// End writes what closes the document.
func (s *Stream) End() error {
	if err := s.begin(); err != nil {
		return err
	}
	_, err := io.WriteString(s.w, "</testsuites>\n")
	return err
}

func (s *Stream) begin() error {
	if s.began {
		return nil
	}
	s.began = true
	var name strings.Builder
	if err := xml.EscapeText(&name, []byte(s.name)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.w, "%s<testsuites name=\"%s\">\n", xml.Header, name.String())
	return err
}

// Seconds is a time as JUnit has it.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func one(m *Message) int {
	if m == nil {
		return 0
	}
	return 1
}
