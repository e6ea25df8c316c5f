// Views to a line on the same machine without a copy, in Go: `go run producer.go SOCKET` sends a fruit of two views,
// of the classes background and rot. SOCKET: ingest.slots.path of the line. The protocol: src/ingest/slots/README.md.
package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	height, width, channels   = 95, 511, 2
	tensorBytes               = height * width * channels * 4
	free, filling, sent, step = 0, 1, 2, 4 // a slot's word: its state, and 4 times its generation
)

var le = binary.LittleEndian

type ring struct {
	socket            int
	slots, name       uint64
	slotBytes         uint64
	memory, statePage []byte
}

func check(doing string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "producer: %s: %v\n", doing, err)
		os.Exit(1)
	}
}

func connect(path string) *ring {
	socket, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	check("socket", err)
	check(path, syscall.Connect(socket, &syscall.SockaddrUnix{Name: path}))
	hello := make([]byte, 40)
	copy(hello, "CRNS")
	le.PutUint16(hello[4:], 1)  // version
	le.PutUint16(hello[6:], 1)  // kind: memfd
	le.PutUint32(hello[8:], 16) // slots
	le.PutUint64(hello[16:], tensorBytes)
	_, err = syscall.Write(socket, hello)
	check(path, err)

	answer, control := make([]byte, 128), make([]byte, syscall.CmsgSpace(2*4))
	size, controlSize, _, _, err := syscall.Recvmsg(socket, answer, control, syscall.MSG_CMSG_CLOEXEC)
	check(path, err)
	if size != len(answer) {
		check(path, fmt.Errorf("an answer of %d bytes: is it a cernitad?", size))
	}
	if status := le.Uint32(answer); status != 0 {
		check(path, fmt.Errorf("refused: %s (%v)", answer[24:], syscall.Errno(status)))
	}
	messages, err := syscall.ParseSocketControlMessage(control[:controlSize])
	check("the answer's descriptors", err)
	files, err := syscall.ParseUnixRights(&messages[0])
	check("the answer's descriptors", err)

	r := &ring{socket: socket, slots: uint64(le.Uint32(answer[4:])), name: le.Uint64(answer[8:]),
		slotBytes: le.Uint64(answer[16:])}
	r.memory = mapFile(files[0], r.slots*r.slotBytes)
	r.statePage = mapFile(files[1], (r.slots*8+4095)/4096*4096)
	return r
}

func mapFile(file int, bytes uint64) []byte {
	memory, err := syscall.Mmap(file, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED|syscall.MAP_POPULATE)
	check("mmap", err)
	syscall.Close(file)
	return memory
}

func (r *ring) word(slot uint64) *uint64 { return (*uint64)(unsafe.Pointer(&r.statePage[8*slot])) }

// Takes a free slot, and waits until there is one.
func (r *ring) take() (slot, generation uint64) {
	for wake := make([]byte, 64); ; {
		for slot := uint64(0); slot < r.slots; slot++ {
			word := atomic.LoadUint64(r.word(slot))
			if word%step == free && atomic.CompareAndSwapUint64(r.word(slot), word, word+filling) {
				return slot, word / step
			}
		}
		size, _, err := syscall.Recvfrom(r.socket, wake, 0) // a byte: look again
		check("the line", err)
		if size == 0 {
			check("the line", fmt.Errorf("it has ended: connect again"))
		}
	}
}

// Sends the header of the view in a slot, which is the line's from then on.
func (r *ring) send(header []byte, slot, generation uint64) error {
	reference := make([]byte, 24)
	le.PutUint64(reference, r.name)
	le.PutUint32(reference[8:], uint32(slot))
	le.PutUint64(reference[16:], generation)
	atomic.StoreUint64(r.word(slot), generation*step+sent)
	_, err := syscall.Write(r.socket, append(header, reference...))
	if err != nil {
		atomic.CompareAndSwapUint64(r.word(slot), generation*step+sent, generation*step+free)
	}
	return err
}

func header(epoch uint64, view uint16) []byte {
	h := make([]byte, 128)
	copy(h, "CRN1")
	le.PutUint16(h[4:], 128)
	le.PutUint16(h[6:], 2)            // in a slot
	le.PutUint64(h[8:], uint64(view)) // sequence
	le.PutUint64(h[16:], epoch)       // another one at each start
	le.PutUint64(h[24:], 1)           // fruit
	le.PutUint16(h[60:], view)        // which of
	le.PutUint16(h[62:], 2)           // two
	le.PutUint32(h[64:], height)
	le.PutUint32(h[68:], width)
	le.PutUint32(h[72:], channels)
	h[76], h[77] = 3, 2 // f32, [height][width][channels]
	le.PutUint64(h[88:], tensorBytes)
	return h
}

// As a CNN emits them: for each pixel the probability of each class. Here is a spot of rot.
func writeMaps(maps []byte) {
	for i := 0; i < height*width; i++ {
		x, y, rot := i%width-60, i/width-40, float32(0.1)
		if x*x+y*y < 100 {
			rot = 0.9
		}
		le.PutUint32(maps[8*i:], math.Float32bits(1-rot))
		le.PutUint32(maps[8*i+4:], math.Float32bits(rot))
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: producer SOCKET")
		os.Exit(2)
	}
	r, epoch := connect(os.Args[1]), uint64(time.Now().UnixNano())
	for view := uint16(0); view < 2; view++ {
		slot, generation := r.take()
		writeMaps(r.memory[slot*r.slotBytes:])
		check("the line", r.send(header(epoch, view), slot, generation))
	}
}
