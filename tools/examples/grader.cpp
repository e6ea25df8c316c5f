// A grader: `grader ENDPOINT [--count N] [--alive-ms N]` receives a line's verdicts and decides on
// each fruit. Replace decide() and print: what it does with a message that it does not know, a gap
// or silence is what a machine needs.
//
//   g++ -std=c++17 grader.cpp $(pkg-config --cflags --libs libzmq msgpack) -o grader && ./grader
//   tcp://127.0.0.1:5556
#include <msgpack.h>
#include <poll.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

static const std::string_view REJECTED[] = {"rot", "mould"}; // classes
static const double REJECTED_MM2 = 50;  // more of them is too much: 0.5 cm2 of the fruit
static const double COVERAGE_MIN = 0.9; // a fruit of which less was seen is not known to be sound
static const double REJECTED_PX = 40;   // without section geometry: summed over the views

// A value within a message, or none: a missing key leads nowhere, not to a crash.
class Value
{
  public:
    explicit Value(const msgpack_object *it = nullptr) : it(it) {}

    Value operator[](std::string_view key) const
    {
        if (it && it->type == MSGPACK_OBJECT_MAP)
            for (uint32_t i = 0; i < it->via.map.size; i++)
                if (Value(&it->via.map.ptr[i].key).text() == key)
                    return Value(&it->via.map.ptr[i].val);
        return Value();
    }
    Value operator[](uint32_t index) const
    {
        bool has = it && it->type == MSGPACK_OBJECT_ARRAY && index < it->via.array.size;
        return Value(has ? &it->via.array.ptr[index] : nullptr);
    }
    std::optional<std::string_view> text() const
    {
        if (!it || it->type != MSGPACK_OBJECT_STR)
            return std::nullopt;
        return std::string_view(it->via.str.ptr, it->via.str.size);
    }
    std::optional<uint64_t> count() const
    {
        if (!it || it->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
            return std::nullopt;
        return it->via.u64;
    }
    std::optional<bool> flag() const
    {
        if (!it || it->type != MSGPACK_OBJECT_BOOLEAN)
            return std::nullopt;
        return it->via.boolean;
    }
    double number() const // NaN: none
    {
        if (it && (it->type == MSGPACK_OBJECT_FLOAT32 || it->type == MSGPACK_OBJECT_FLOAT64))
            return it->via.f64;
        return count() ? static_cast<double>(*count()) : NAN;
    }
    uint32_t size() const
    {
        return it && it->type == MSGPACK_OBJECT_ARRAY ? it->via.array.size : 0;
    }

    const msgpack_object *it;
};

// One message, decoded; empty if it is not MessagePack.
class Decoded
{
  public:
    explicit Decoded(std::string_view bytes)
    {
        msgpack_unpacked_init(&unpacked);
        whole = msgpack_unpack_next(&unpacked, bytes.data(), bytes.size(), nullptr) ==
                MSGPACK_UNPACK_SUCCESS;
    }
    ~Decoded()
    {
        msgpack_unpacked_destroy(&unpacked);
    }
    Decoded(const Decoded &) = delete;
    Decoded &operator=(const Decoded &) = delete;

    Value value() const
    {
        return Value(whole ? &unpacked.data : nullptr);
    }

  private:
    msgpack_unpacked unpacked;
    bool whole;
};

static uint64_t now_ns()
{
    using namespace std::chrono;
    return static_cast<uint64_t>(
        duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
}

// "keep", "reject", or "fail-safe" for a fruit of which is not known in time what it is.
static const char *decide(const Value &verdict)
{
    auto kind = verdict["verdict"].text();
    auto deadline_ns = verdict["deadline_ns"].count();
    if (!kind || *kind == "late" || verdict["stale"].flag() != false || !deadline_ns ||
        now_ns() > *deadline_ns)
        return "fail-safe";             // nobody has looked at it in time, or it may have passed
    Value surface = verdict["surface"]; // absent: the line's file has no section geometry
    double area = 0;
    for (std::string_view name : REJECTED)
        area += surface.it ? surface["classes"][name]["area_mm2"].number()
                           : verdict["totals"][name]["area_px"].number();
    // NaN, too, of a class that is absent, or of a fruit that could not be measured: nobody knows
    // how much of it the fruit has. Every comparison with NaN would lead to "keep".
    if (!std::isfinite(area))
        return "fail-safe";
    if (area > (surface.it ? REJECTED_MM2 : REJECTED_PX))
        return "reject";
    if (surface.it && !(surface["coverage"].number() >= COVERAGE_MIN))
        return "fail-safe";
    return *kind == "complete" ? "keep" : "fail-safe"; // "partial": the rest is unknown
}

// Whether every verdict came: they are numbered by lane, from 0 with each start of the daemon.
class Sequences
{
  public:
    // How many are missing before this one.
    uint64_t missing(const Value &verdict)
    {
        auto run = verdict["run"].text();
        auto lane = verdict["lane"].count(), sequence = verdict["sequence"].count();
        if (!run || !lane || !sequence)
            return 0;
        if (*run != this->run) {
            this->run = *run;
            next.clear();
        }
        auto place = next.find(*lane);
        uint64_t lost =
            place != next.end() && *sequence > place->second ? *sequence - place->second : 0;
        next[*lane] = *sequence + 1;
        return lost;
    }

  private:
    std::string run;
    std::map<uint64_t, uint64_t> next;
};

// Prints a line if stdout takes it now: neither a full disk nor a reader that stops or leaves may
// delay the ejector.
static void say(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    size_t size = std::min(static_cast<size_t>(std::max(length, 0)), sizeof line - 1);
    static bool told;
    pollfd out = {STDOUT_FILENO, POLLOUT, 0};
    if (poll(&out, 1, 0) == 1 && write(STDOUT_FILENO, line, size) < 0 && !std::exchange(told, true))
        std::perror("grader: decisions go on, what is printed is lost: stdout");
}

// Says once that a class has no level in the line's file or recipe, or another name there.
static void warn_of_missing(const Value &totals)
{
    static bool told;
    for (std::string_view name : REJECTED)
        if (totals.it && !totals[name].it && !std::exchange(told, true))
            say("FAIL-SAFE for every fruit: %.*s was not looked for: give it a level in the line's "
                "file or recipe, or correct REJECTED\n",
                static_cast<int>(name.size()), name.data());
}

static void handle(std::string_view topic, std::string_view body, Sequences &sequences)
{
    if (topic.substr(0, 6) != "fruit/")
        return; // `alive`, or what a later daemon sends: it is not silent, and that is all
    Decoded decoded(body);
    Value verdict = decoded.value();
    if (uint64_t lost = sequences.missing(verdict))
        say("FAIL-SAFE: %llu verdicts lost\n", static_cast<unsigned long long>(lost));
    warn_of_missing(verdict["totals"]);
    // A defect's outline: f32 pairs of x and y, little-endian, as a PC has them.
    uint64_t points = 0;
    for (uint32_t i = 0; i < verdict["defects"].size(); i++)
        if (Value xy = verdict["defects"][i]["xy"]; xy.it && xy.it->type == MSGPACK_OBJECT_BIN)
            points += xy.it->via.bin.size / (2 * sizeof(float));
    say("%.*s %llu: %s, %u defects, %llu points\n", static_cast<int>(topic.size()), topic.data(),
        static_cast<unsigned long long>(verdict["fruit"].count().value_or(0)), decide(verdict),
        verdict["defects"].size(), static_cast<unsigned long long>(points));
}

// The next message's parts, [topic][body]; false after wait_ms of silence.
static bool receive(void *socket, std::string &topic, std::string &body)
{
    for (int part = 0, more = 1; more; part++) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        int size;
        while ((size = zmq_msg_recv(&message, socket, 0)) < 0 && errno == EINTR)
            ;
        if (size < 0) {
            zmq_msg_close(&message);
            if (errno == EAGAIN)
                return false;
            throw std::runtime_error(zmq_strerror(errno));
        }
        if (part < 2)
            (part ? body : topic)
                .assign(static_cast<const char *>(zmq_msg_data(&message)), zmq_msg_size(&message));
        more = zmq_msg_more(&message);
        zmq_msg_close(&message);
    }
    return true;
}

int main(int count, char **arguments)
try {
    long left = -1, alive_ms = 100;
    for (int i = 2; i + 1 < count; i += 2)
        (std::strcmp(arguments[i], "--count") ? alive_ms : left) = std::atol(arguments[i + 1]);
    if (count < 2)
        throw std::runtime_error("usage: grader ENDPOINT [--count N] [--alive-ms N]");
    std::signal(SIGPIPE, SIG_IGN); // a reader of stdout that leaves
    void *zmq = zmq_ctx_new();
    void *socket = zmq_socket(zmq, ZMQ_PULL);
    int silence_ms = static_cast<int>(3 * alive_ms), linger = 0;
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &silence_ms, sizeof silence_ms);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    // libzmq takes one family for a socket, IPv4 if it is not told.
    int ipv6 = std::strncmp(arguments[1], "tcp://[", 7) == 0;
    zmq_setsockopt(socket, ZMQ_IPV6, &ipv6, sizeof ipv6);
    if (zmq_connect(socket, arguments[1]) != 0)
        throw std::runtime_error(std::string(arguments[1]) + ": " + zmq_strerror(errno));
    Sequences sequences;
    std::string topic, body;
    for (bool silent = false; left != 0;) {
        if (receive(socket, topic, body)) {
            silent = false;
            handle(topic, body, sequences);
            left -= topic.compare(0, 6, "fruit/") == 0;
        } else if (!silent) {
            silent = true; // the ejector takes every fruit for unknown until a message comes
            say("FAIL-SAFE: silence for %d ms\n", silence_ms);
        }
    }
    zmq_close(socket);
    zmq_ctx_term(zmq);
    return 0;
} catch (const std::exception &fault) {
    std::fprintf(stderr, "grader: %s\n", fault.what());
    return 1;
}
