package blockcache

import (
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

func TestParseJob(t *testing.T) {
	j, err := ParseJob("default", strings.NewReader(DefaultJob))
	if err != nil || j.Writes || j.Size() != 4<<30 || j.Jobs() != 2 || j.Runtime != 15*time.Minute {
		t.Errorf("%+v, %v", j, err)
	}
	j, err = ParseJob(
		"j",
		strings.NewReader(
			"; two loads\n[global]\nbs=8k\nsize=1M\nfilename=/dev/sda\nwrite_iops_log=/etc/"+
				"x-${T}\n[a]\nrw=randrw\n[global]\nruntime=90\n[b]\nsize=512k\nnumjobs=3\n",
		),
	)
	if err != nil || !j.Writes || j.Size() != 1<<20+3*512<<10 || j.Runtime != 90*time.Second {
		t.Errorf("%+v, %v", j, err)
	}
	m := Measurement{Job: j, Runtime: time.Minute, Interval: time.Second}
	text := m.jobText(true, true)
	for _, want := range []string{"[a]\nbs=8k\nrw=randrw\nnumjobs=1\nsize=104857" +
		"6\noffset=2621440\noffset_increment=1048576\n", "[b]\nbs=8k\nnumjobs=3\nsize=524288\noffset=3670016\noffset_increment=524288\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nwithout\n%s", text, want)
		}
	}
	if strings.Contains(text, "/dev/sda") || strings.Contains(text, "/etc") {
		t.Errorf("a path of the file came through:\n%s", text)
	}
}

func TestParseJobRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "j:1: no job",
		"rw=read\n":                         "j:1: ",
		"[a]\nexec_prerun=rm x\n":           `j:2: the option "exec_prerun"`,
		"[a]\ninclude /etc/passwd\n":        `j:2: the option "include /etc/passwd"`,
		"[a]\nread_iolog=x\n":               `j:2: the option "read_iolog"`,
		"[a]\nverify=crc32c\n":              `j:2: the option "verify"`,
		"[a]\nrw=trim\n":                    "j:2: rw=trim: expected",
		"[a]\nreadwrite=randtrim:8\n":       "j:2: readwrite=",
		"[a]\nioengine=external:/x.so\n":    "j:2: ioengine=",
		"[a]\nioengine=exec\n":              "j:2: ioengine=",
		"[a]\nbs=`id`\n":                    "j:2: bs=`id`: variables",
		"[a]\nbs=${X}\n":                    "j:2: bs=${X}: variables",
		"[a]\nsize=50%\n":                   "j:2: size=50%: expected",
		"[a]\nsize=99999999999g\n":          "j:2: size=",
		"[a]\nnumjobs=0\n":                  "j:2: numjobs=0",
		"[a]\nruntime=soon\n":               "j:2: runtime=soon",
		"[a]\nbs=4k\n\n[b]\nstonewall\n":    "j:5: stonewall",
		"[a b]\n":                           "j:1: ",
		"[a]\n[a]\n":                        "j:2: a second section",
		"[a]\nsize=500000t\nnumjobs=4096\n": "j:3: the jobs' sizes",
	} {
		if _, err := ParseJob("j", strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParseJob(f *testing.F) {
	f.Add(DefaultJob)
	f.Add("[global]\nsize=1g\n[a]\nrw=randwrite:4\nfilename=/dev/sda:/dev/sdb\n")
	f.Fuzz(func(t *testing.T, text string) {
		j, err := ParseJob("f", strings.NewReader(text))
		if err != nil || j.missingSize() != "" {
			return
		}
		m := Measurement{Job: j, Runtime: time.Minute, Interval: time.Second}
		out := m.jobText(true, false)
		again, err := ParseJob("out", strings.NewReader(out))
		if err != nil || again.Size() != j.Size() || again.Writes != j.Writes {
			t.Errorf("%q became %q, which is another job: %v", text, out, err)
		}
		for _, key := range []string{"exec", "include", "iolog", "verify"} {
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, key) {
					t.Errorf("%q came through", line)
				}
			}
		}
	})
}
