package sshslowlogin

import (
	"net/netip"
	"slices"
	"testing"

	"fettle/internal/means"
)

func TestWrapperNames(t *testing.T) {
	for line, want := range map[string]string{
		"ALL: PARANOID":                            "PARANOID",
		"sshd: .example.net":                       ".example.net",
		"sshd, vsftpd : 192.0.2. EXCEPT bad.host":  "bad.host",
		"sshd@198.51.100.1: LOCAL":                 "LOCAL",
		"sshd: root@host.example.net":              "host.example.net",
		"ALL: ALL":                                 "",
		"sshd: 192.0.2.0/255.255.255.0":            "",
		"sshd: [2001:db8::]/32 : allow":            "",
		"sshd: 192.0.2.1 : spawn (echo %h | mail)": "",
		"vsftpd: .example.net":                     "",
		"# sshd: .example.net":                     "",
		"sshd: /etc/hosts.list":                    "",
		"":                                         "",
	} {
		if got := wrapperNames(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestKernelAddr(t *testing.T) {
	for in, want := range map[string]string{
		"3500007F":                         "127.0.0.53",
		"00000000":                         "0.0.0.0",
		"00000000000000000000000001000000": "::1",
		"0000000000000000FFFF00000100007F": "127.0.0.1", // mapped
		"xyz":                              "",
		"0000":                             "",
	} {
		a, ok := kernelAddr(in)
		if ok != (want != "") || ok && a != netip.MustParseAddr(want) {
			t.Errorf("%s: %v %v, want %q", in, a, ok, want)
		}
	}
}

func TestSlowLine(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/sh\n# curl is not called\nuname -a\n": "",
		"#!/bin/sh\n\nW=$(curl -s x)\n":               "curl",
		"exec /usr/bin/wget x":                        "wget",
		"if [ -x /bin/df ]; then :; fi":               "df",
		"echo curly":                                  "",
	} {
		if s, ok := slowLine(text); ok != (want != "") || s.word != want {
			t.Errorf("%q: %q %v", text, s.word, ok)
		}
	}
}

func TestVolumes(t *testing.T) {
	got, err := volumes(
		`<?xml version="1.0" ?><pam_mount><volume fstype="cifs" path="x"/><volume fstype="crypt"/><volume fstype='nfs4'/></pam_mount>`,
	)
	if err != nil || !slices.Equal(got, []string{"cifs", "nfs4"}) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := volumes("<pam_mount><volume"); err == nil {
		t.Error("half a file passes")
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzForeign: what stands in other people's files makes no parser fall over.
func FuzzForeign(f *testing.F) {
	for _, s := range []string{"ALL: [::1 ]: x", "bind_policy", "<volume fstype=\"nfs\">", "a@b:c@", "]:[", "sshd:]["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		wrapperNames(s)
		slowLine(s)
		volumes(s)
		kernelAddr(s)
		if p, n := bindPolicy(s); n == 0 && p != "hard" {
			t.Errorf("%q: %s without a line", s, p)
		}
	})
}
