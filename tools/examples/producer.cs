// Views to a line on the same machine without a copy, in C#: `mcs -unsafe producer.cs && mono producer.exe SOCKET`
// sends a fruit of two views, of the classes background and rot. SOCKET: ingest.slots.path of the line. The protocol:
// src/ingest/slots/README.md. For 64-bit Linux: sizes of the C library's structs stand here.
using System;
using System.ComponentModel;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

static unsafe class Libc
{
    public const int AF_UNIX = 1, SOCK_SEQPACKET = 5, SOCK_CLOEXEC = 0x80000, MSG_NOSIGNAL = 0x4000, MSG_CMSG_CLOEXEC = 0x40000000;
    public const int READ_WRITE = 3, SHARED_POPULATE = 0x8001;

    public struct Iovec { public void* Base; public UIntPtr Size; }

    public struct Message
    {
        public void* Name; public uint NameSize; public Iovec* Parts; public UIntPtr PartCount;
        public void* Control; public UIntPtr ControlSize; public int Flags;
    }

    [DllImport("libc", SetLastError = true)] public static extern int socket(int family, int type, int protocol);
    [DllImport("libc", SetLastError = true)] public static extern int connect(int socket, byte[] address, uint size);
    [DllImport("libc", SetLastError = true)] public static extern IntPtr send(int socket, byte[] bytes, UIntPtr size, int flags);
    [DllImport("libc", SetLastError = true)] public static extern IntPtr recv(int socket, byte[] bytes, UIntPtr size, int flags);
    [DllImport("libc", SetLastError = true)] public static extern IntPtr recvmsg(int socket, ref Message message, int flags);
    [DllImport("libc", SetLastError = true)] public static extern IntPtr mmap(IntPtr at, UIntPtr size, int protection, int flags, int file, IntPtr offset);
    [DllImport("libc", SetLastError = true)] public static extern int close(int file);

    public static long Check(string doing, long result)
    {
        if (result < 0)
            throw new IOException(doing + ": " + new Win32Exception(Marshal.GetLastWin32Error()).Message);
        return result;
    }
}

unsafe class Ring
{
    public const int Free = 0, Filling = 1, Sent = 2, Step = 4; // a slot's word: its state, and 4 times its generation
    readonly int socket;
    readonly uint slots;
    readonly ulong name, slotBytes;
    readonly byte* memory;
    readonly long* words;

    public Ring(string path, long viewBytes)
    {
        socket = (int)Libc.Check("socket", Libc.socket(Libc.AF_UNIX, Libc.SOCK_SEQPACKET | Libc.SOCK_CLOEXEC, 0));
        var address = new byte[110];
        address[0] = Libc.AF_UNIX;
        Encoding.UTF8.GetBytes(path, 0, path.Length, address, 2);
        Libc.Check(path, Libc.connect(socket, address, (uint)address.Length));
        var hello = new byte[40];
        Encoding.ASCII.GetBytes("CRNS", 0, 4, hello, 0);
        hello[4] = hello[6] = 1; // version; kind: memfd
        hello[8] = 16; // slots
        BitConverter.GetBytes(viewBytes).CopyTo(hello, 16);
        Libc.Check(path, (long)Libc.send(socket, hello, (UIntPtr)40, Libc.MSG_NOSIGNAL));

        var answer = new byte[128];
        long* control = stackalloc long[3]; // of SCM_RIGHTS: 16 bytes, and two descriptors
        fixed (byte* at = answer)
        {
            var part = new Libc.Iovec { Base = at, Size = (UIntPtr)128 };
            var message = new Libc.Message { Parts = &part, PartCount = (UIntPtr)1, Control = control, ControlSize = (UIntPtr)24 };
            if (Libc.Check(path, (long)Libc.recvmsg(socket, ref message, Libc.MSG_CMSG_CLOEXEC)) != answer.Length)
                throw new IOException(path + ": no answer: is it a cernitad?");
        }
        if (BitConverter.ToUInt32(answer, 0) != 0)
            throw new IOException(path + ": refused: " + Encoding.UTF8.GetString(answer, 24, 104).TrimEnd('\0'));
        slots = BitConverter.ToUInt32(answer, 4);
        name = BitConverter.ToUInt64(answer, 8);
        slotBytes = BitConverter.ToUInt64(answer, 16);
        int* files = (int*)(control + 2);
        memory = Map(files[0], slots * slotBytes);
        words = (long*)Map(files[1], (slots * 8UL + 4095) / 4096 * 4096);
    }

    static byte* Map(int file, ulong bytes)
    {
        var at = Libc.mmap(IntPtr.Zero, (UIntPtr)bytes, Libc.READ_WRITE, Libc.SHARED_POPULATE, file, IntPtr.Zero);
        Libc.Check("mmap", (long)at);
        Libc.close(file);
        return (byte*)at;
    }

    // Takes a free slot, and waits until there is one; where its maps are to be written.
    public byte* Take(out uint slot, out long generation)
    {
        for (var wake = new byte[64]; ;)
        {
            for (slot = 0; slot < slots; slot++)
            {
                long word = Interlocked.Read(ref words[slot]);
                generation = word / Step;
                if (word % Step == Free && Interlocked.CompareExchange(ref words[slot], word + Filling, word) == word)
                    return memory + slot * slotBytes;
            }
            if (Libc.Check("the line", (long)Libc.recv(socket, wake, (UIntPtr)64, 0)) == 0) // a byte: look again
                throw new IOException("the line has ended: connect again");
        }
    }

    // Sends the header of the view in a slot, which is the line's from then on.
    public void Send(byte[] header, uint slot, long generation)
    {
        var packet = new byte[152];
        header.CopyTo(packet, 0);
        BitConverter.GetBytes(name).CopyTo(packet, 128);
        BitConverter.GetBytes(slot).CopyTo(packet, 136);
        BitConverter.GetBytes(generation).CopyTo(packet, 144);
        Interlocked.Exchange(ref words[slot], generation * Step + Sent);
        if ((long)Libc.send(socket, packet, (UIntPtr)152, Libc.MSG_NOSIGNAL) < 0)
        {
            int code = Marshal.GetLastWin32Error();
            Interlocked.CompareExchange(ref words[slot], generation * Step + Free, generation * Step + Sent);
            throw new IOException("the line: " + new Win32Exception(code).Message);
        }
    }
}

static unsafe class Producer
{
    const int Height = 95, Width = 511, Channels = 2, TensorBytes = Height * Width * Channels * 4;

    static byte[] Header(long epoch, ushort view)
    {
        var header = new byte[128];
        using (var to = new BinaryWriter(new MemoryStream(header)))
        {
            to.Write(Encoding.ASCII.GetBytes("CRN1"));
            to.Write((ushort)128);
            to.Write((ushort)2);   // flags: in a slot
            to.Write((ulong)view); // sequence
            to.Write(epoch);       // another one at each start
            to.Write(1UL);         // fruit
            to.Seek(60, SeekOrigin.Begin);
            to.Write(view); // which of
            to.Write((ushort)2); // two
            foreach (int side in new[] { Height, Width, Channels })
                to.Write(side);
            to.Write((ushort)0x0203); // f32, [height][width][channels]
            to.Seek(88, SeekOrigin.Begin);
            to.Write((ulong)TensorBytes);
        }
        return header;
    }

    // As a CNN emits them: for each pixel the probability of each class. Here is a spot of rot.
    static void WriteMaps(float* maps)
    {
        for (int i = 0; i < Height * Width; i++)
        {
            int x = i % Width - 60, y = i / Width - 40;
            maps[2 * i + 1] = x * x + y * y < 100 ? 0.9F : 0.1F;
            maps[2 * i] = 1 - maps[2 * i + 1];
        }
    }

    static int Main(string[] arguments)
    {
        if (arguments.Length != 1)
        {
            Console.Error.WriteLine("usage: producer SOCKET");
            return 2;
        }
        try
        {
            var ring = new Ring(arguments[0], TensorBytes);
            long epoch = DateTime.UtcNow.Ticks;
            for (ushort view = 0; view < 2; view++)
            {
                uint slot;
                long generation;
                WriteMaps((float*)ring.Take(out slot, out generation));
                ring.Send(Header(epoch, view), slot, generation);
            }
            return 0;
        }
        catch (IOException fault)
        {
            Console.Error.WriteLine("producer: " + fault.Message);
            return 1;
        }
    }
}
