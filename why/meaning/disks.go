package meaning

import (
	"regexp"
	"strconv"
	"strings"

	"fettle/internal/lazy"
)

// SenseKeys are SCSI's (SPC-4, 4.5.6; scsi/scsi.h and drivers/scsi/constants.c have the names).
var SenseKeys = []Entry{
	{"No Sense", "nothing to report"},
	{"Recovered Error", "the command succeeded after the drive corrected an error"},
	{"Not Ready", "the drive cannot be accessed: spinning up, no medium, or failed"},
	{"Medium Error", "the drive could not read or write this place of its medium: a bad sector"},
	{"Hardware Error", "the drive or its controller is faulty"},
	{"Illegal Request", "the drive does not know this command or parameter, often harmless"},
	{"Unit Attention", "the drive was reset, or its medium or parameters changed"},
	{"Data Protect", "the place is write-protected"},
	{"Blank Check", "blank medium where data was expected"},
	{"Vendor Specific", "the vendor says what it means"},
	{"Copy Aborted", "a copy command was aborted"},
	{"Aborted Command", "the drive or the link gave the command up: cables, power or timeouts are common"},
	{"Equal", "obsolete"},
	{"Volume Overflow", "the end of the medium was reached"},
	{"Miscompare", "the data differs from what is on the medium"},
	{"Completed", "completed"},
}

// Sense codes (ASC and ASCQ; T10's list at https://www.t10.org/lists/asc-num.htm).
var senseCodes = map[string]string{
	"04/00": "not ready, the drive does not say why",
	"04/01": "it is becoming ready",
	"04/02": "it waits for a command that starts it",
	"04/03": "somebody has to act on the drive",
	"08/00": "the logical unit does not communicate",
	"0c/02": "a write failed and the place could not be reallocated",
	"10/00": "the CRC or ECC of the ID is wrong",
	"11/00": "a read that could not be recovered: a bad sector",
	"11/04": "a read that could not be recovered, and the sector could not be reallocated",
	"14/01": "the record was not found",
	"15/01": "a mechanical positioning error",
	"20/00": "the drive does not know this command",
	"21/00": "the address is beyond the end of the drive",
	"24/00": "a field of the command is not accepted",
	"25/00": "there is no such logical unit",
	"26/00": "a parameter is not accepted",
	"27/00": "write-protected",
	"28/00": "the medium may have been changed",
	"29/00": "the drive was powered on or reset",
	"32/00": "no spare sectors left to reallocate to",
	"3a/00": "no medium",
	"3f/0e": "the list of logical units changed",
	"40/00": "the drive's own memory (RAM) failed",
	"44/00": "an internal failure of the drive",
	"47/00": "a parity error on the link",
	"47/03": "a CRC error on the link: cables or connectors are common",
	"4b/00": "a data phase error",
	"5d/00": "the drive predicts its own failure (SMART)",
	"5d/10": "the drive predicts its own failure (SMART): general hardware failure",
	"5d/64": "the drive predicts its own failure (SMART)",
}

const (
	senseSource = "SPC-4 and https://www.t10.org/lists/asc-num.htm"
	ataSource   = "https://docs.kernel.org/driver-api/libata.html and ACS-3"
	nvmeSource  = "NVM Express Base Specification, Status Code"
)

var (
	senseKey  = lazy.Regexp(`Sense Key ?: ?(?:0x([0-9a-fA-F])\b|([A-Z][a-z]+ [A-Z][a-z]+))`)
	senseCode = lazy.Regexp(`(?i)\basc[=: ]+(?:0x)?([0-9a-f]{1,2}),? ?ascq[=: ]+(?:0x)?([0-9a-f]{1,2})\b`)
	addSense  = lazy.Regexp(`Add\. Sense: ([A-Za-z][\w ,/-]+)`)
	hostByte  = lazy.Regexp(`hostbyte=(DID_\w+)`)
)

// hostBytes are what the host adapter's driver says (include/scsi/scsi_status.h, enum scsi_host_status).
var hostBytes = map[string]string{
	"DID_NO_CONNECT":          "the adapter cannot reach the drive: it is gone",
	"DID_BUS_BUSY":            "the bus stayed busy",
	"DID_TIME_OUT":            "the drive did not answer in time",
	"DID_BAD_TARGET":          "there is no such drive",
	"DID_ABORT":               "the command was aborted for some reason",
	"DID_PARITY":              "a parity error",
	"DID_ERROR":               "an internal error of the adapter or the link",
	"DID_RESET":               "the bus or drive was reset",
	"DID_SOFT_ERROR":          "the adapter asks for another try",
	"DID_TRANSPORT_DISRUPTED": "the link broke and is being restored",
	"DID_TRANSPORT_FAILFAST":  "the link is down, and waiting was not wanted",
}

func scsi(text string) []Meaning {
	var out []Meaning
	if m := senseKey().FindStringSubmatch(text); m != nil {
		for i, k := range SenseKeys {
			if n, err := strconv.ParseInt(m[1], 16, 8); m[1] != "" && err == nil && int(n) == i || m[2] == k.Name {
				out = append(out, Meaning{m[0], k.Name + ": " + k.Says, senseSource})
			}
		}
	}
	if m := senseCode().FindStringSubmatch(text); m != nil {
		if says := senseCodes[two(m[1])+"/"+two(m[2])]; says != "" {
			out = append(out, Meaning{m[0], says, senseSource})
		}
	}
	if m := addSense().FindStringSubmatch(text); m != nil && strings.HasPrefix(m[1], "Unrecovered read error") {
		out = append(out, Meaning{m[0], senseCodes["11/00"], senseSource})
	}
	if m := hostByte().FindStringSubmatch(text); m != nil && hostBytes[m[1]] != "" {
		out = append(out, Meaning{m[0], hostBytes[m[1]], "the kernel's include/scsi/scsi_status.h"})
	}
	return out
}

func two(hex string) string {
	hex = strings.ToLower(hex)
	if len(hex) == 1 {
		return "0" + hex
	}
	return hex
}

// ATA's words as libata prints them (drivers/ata/libata-eh.c).
var ataWords = []struct {
	re   func() *regexp.Regexp
	says string
}{
	{lazy.Regexp(`\berror: \{[^}]*\bUNC\b[^}]*\}`), "UNC: the drive could not read this place of its medium"},
	{lazy.Regexp(`\berror: \{[^}]*\bICRC\b[^}]*\}`), "ICRC: data was damaged on the link: cable, connector or port"},
	{lazy.Regexp(`\berror: \{[^}]*\bIDNF\b[^}]*\}`), "IDNF: the drive did not find this address"},
	{lazy.Regexp(`\berror: \{ ABRT \}`), "ABRT: the drive refused the command"},
	{lazy.Regexp(`\bEmask 0x[0-9a-f]+ \(timeout\)`), "the drive did not answer in time"},
	{lazy.Regexp(`\bEmask 0x[0-9a-f]+ \(ATA bus error\)`), "an error on the link between controller and drive"},
	{lazy.Regexp(`\bEmask 0x[0-9a-f]+ \(media error\)`), "the drive could not read or write its medium"},
	{lazy.Regexp(`\bEmask 0x[0-9a-f]+ \(device error\)`), "the drive itself reported an error"},
	{lazy.Regexp(`\bEmask 0x[0-9a-f]+ \(host bus error\)`), "an error between controller and memory"},
	{lazy.Regexp(`\bSError: \{[^}]*\b(?:BadCRC|UnrecovData|Dispar|10B8B|Handshk|LinkSeq|TrStaTrns)\b[^}]*\}`),
		"the link lost or damaged frames: cable, connector, power or port"},
	{lazy.Regexp(`\bSError: \{[^}]*\b(?:PHYRdyChg|DevExch|CommWake|PHYInt)\b[^}]*\}`),
		"the link to the drive went away and came again"},
	{lazy.Regexp(`\binterface fatal error\b`), "the controller saw an error on the link that it could not recover"},
	{lazy.Regexp(`\bhard resetting link\b`), "the kernel resets the link because commands failed"},
	{lazy.Regexp(`\bfailed command: (?:READ|WRITE)[A-Z ]*`),
		"this command of the kernel to the drive failed; the lines with status and error say how"},
	{lazy.Regexp(`\blimiting SATA link speed to [\d.]+ Gbps`), "the kernel slows the link down because of its errors"},
	{lazy.Regexp(`\bSATA link down\b`), "no drive answers at this port"},
	{lazy.Regexp(`\bCOMRESET failed\b`), "the drive did not answer a reset"},
}

func ata(text string) []Meaning {
	var out []Meaning
	for _, w := range ataWords {
		if m := w.re().FindString(text); m != "" {
			out = append(out, Meaning{m, w.says, ataSource})
		}
	}
	return out
}

// NVMeStatus are status codes by type and code (include/linux/nvme.h has the names).
var nvmeStatus = map[string]string{
	"0/02": "a field of the command is not accepted",
	"0/04": "data could not be transferred",
	"0/05": "aborted because power was lost",
	"0/06": "an internal error of the drive",
	"0/07": "aborted because it was asked for",
	"0/08": "aborted because its queue was deleted",
	"0/0b": "there is no such namespace, or it has another format",
	"0/80": "the address is beyond the end of the namespace",
	"0/81": "the drive's capacity is used up",
	"0/82": "the namespace is not ready",
	"2/80": "a fault while writing",
	"2/81": "a read that could not be recovered",
	"2/82": "a check of the data failed (guard)",
	"2/85": "the data differs from what was to be compared",
	"2/86": "access is denied",
	"2/87": "the block was never written, or was deallocated",
	"3/00": "an internal error of the path",
	"3/02": "the path is not accessible for good",
	"3/03": "the path is not accessible now",
	"3/60": "an error of the controller on the path",
	"3/70": "an error of the host on the path",
	"3/71": "aborted by the host",
}

var (
	nvmePair   = lazy.Regexp(`\(?sct 0x([0-9a-f]) / sc 0x([0-9a-f]{1,2})\)?`)
	nvmeAbsent = lazy.Regexp(`CSTS=0xffffffff`)
	nvmeTime   = lazy.Regexp(`I/O (?:tag )?\d+ .*?QID (\d+) timeout(?:, (aborting|reset controller|disable controller|` +
		`completion polled))?`)
	nvmeReady = lazy.Regexp(`Device not ready; aborting (?:reset|initialisation)`)
	nvmeProbe = lazy.Regexp(`Removing after probe failure status: (-?\d+)`)
)

func nvme(text string) []Meaning {
	var out []Meaning
	if m := nvmePair().FindStringSubmatch(text); m != nil {
		if says := nvmeStatus[m[1]+"/"+two(m[2])]; says != "" {
			out = append(out, Meaning{strings.Trim(m[0], "()"), says, nvmeSource})
		}
	}
	if m := nvmeAbsent().FindString(text); m != "" {
		out = append(out, Meaning{m, "all bits set: the controller no longer answers on the bus (power, link, or a power saving state)",
			nvmeSource})
	}
	if m := nvmeTime().FindStringSubmatch(text); m != nil {
		queue := "a queue for data"
		if m[1] == "0" {
			queue = "the queue for administration"
		}
		out = append(out, Meaning{"timeout",
			"the controller did not answer a command of " + queue + " in time (nvme_core.io_timeout, admin_timeout)",
			"the kernel's drivers/nvme/host/pci.c, nvme_timeout"})
	}
	if m := nvmeReady().FindString(text); m != "" {
		out = append(out, Meaning{m, "the controller did not become ready again after a reset",
			"the kernel's drivers/nvme/host/core.c"})
	}
	if m := nvmeProbe().FindString(text); m != "" {
		out = append(out, Meaning{m, "the kernel gave the drive up: its block device is gone", "the kernel's drivers/nvme/host/pci.c"})
	}
	return out
}
