package bmc

import (
	"net"
	"testing"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	listen := func() *net.UDPConn {
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	mute, gone, quietPing := listen(), listen(), listen()
	gone.Close()
	go func() { // a BMC whose presence ping is off
		b := make([]byte, 256)
		for {
			n, from, err := quietPing.ReadFromUDP(b)
			if err != nil {
				return
			}
			if n > 4 && b[3] == 7 {
				quietPing.WriteToUDP([]byte{6, 0, 0xff, 7, 0}, from)
			}
		}
	}()
	for address, want := range map[string]Reach{
		mute.LocalAddr().String():      Mute,
		gone.LocalAddr().String():      Closed,
		quietPing.LocalAddr().String(): Answers,
		"bmc.invalid:623":              NoName,
	} {
		if got, err := Probe(t.Context(), address); got != want {
			t.Errorf("%s: %d, %v; want %d", address, got, err, want)
		}
	}
}

func TestFailureOf(t *testing.T) {
	const end = "\nError: Unable to establish IPMI v2 / RMCP+ session\n"
	for said, want := range map[string]Failure{
		"Unable to Get Channel Cipher Suites" + end:                                           Silence,
		"> RAKP 2 HMAC is invalid" + end:                                                      Refused,
		"RAKP 2 message indicates an error : unauthorized name" + end:                         Refused,
		"Error in open session response message : no matching cipher suite\n" + end:           NoCipher,
		"Error in open session response message : invalid integrity algorithm\n" + end:        NoCipher,
		"Error in open session response message : insufficient resources for session\n" + end: Silence,
		"[SOL Session operational.  Use ~? for help]\nSOL session closed by BMC\n":            None,
		"": None,
	} {
		if got := FailureOf(said); got != want {
			t.Errorf("%q: %d, want %d", said, got, want)
		}
	}
}
