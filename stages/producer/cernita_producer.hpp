/**
 * @file
 * cernita_producer.h in C++17: what is taken is given back, and faults are exceptions.
 *
 * Copy it with that header and its source into your program. Shapes, units and the meaning of each
 * errno stand there.
 *
 * @code
 *   cernita::Producer producer("/run/cernita/slots", crn_producer_view_bytes(&view));
 *   producer.connect();
 *   if (auto slot = producer.take(view)) {
 *       write_maps(slot->tensor<float>());
 *       slot->send(view);
 *   } else {
 *       producer.send_without(view);
 *   }
 * @endcode
 *
 * Where the daemon ends, all of these throw ENOTCONN, and so does the next take(): connect() again,
 * which throws until a daemon is there. A slot whose send() threw it has been given back.
 */
#ifndef CRN_STAGES_PRODUCER_CERNITA_PRODUCER_HPP
#define CRN_STAGES_PRODUCER_CERNITA_PRODUCER_HPP

#include "cernita_producer.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace cernita {

/** A call that failed: its line of text, and the errno. After ENOTCONN connect again. */
class ProducerFault : public std::runtime_error {
public:
    /** The errno, positive, and the text that what() returns. */
    ProducerFault(int code, const char *text) : std::runtime_error(text), number(code) {}
    /** As cernita_producer.h lists them, positive. */
    int code() const noexcept { return number; }

private:
    int number;
};

/** A line's slots, from one thread at a time; it can be moved. */
class Producer {
public:
    /** A slot that was taken; given back at its end if it was not sent. Keeps its memory mapped. */
    class Slot {
    public:
        /** Leaves nothing to give back to the other. */
        Slot(Slot &&other) noexcept
            : producer(std::move(other.producer)), slot(std::exchange(other.slot, {}))
        {
        }
        /** Exchanges both. */
        Slot &operator=(Slot &&other) noexcept
        {
            std::swap(producer, other.producer);
            std::swap(slot, other.slot);
            return *this;
        }
        ~Slot()
        {
            if (producer)
                crn_producer_drop(producer.get(), &slot);
        }

        /** The tensor's elements, 64-byte aligned; nullptr once it was sent or given back. */
        template <typename Element> Element *tensor() const noexcept
        {
            return static_cast<Element *>(slot.tensor);
        }

        /** The photograph's bytes; nullptr if the view has none. */
        std::uint8_t *intensity() const noexcept { return slot.intensity; }

        /** Sends the view; the slot is the line's then. @throws ProducerFault: it is still yours,
         * but for ENOTCONN, by which it was given back */
        void send(const crn_producer_view &view)
        {
            check(producer.get(), crn_producer_send(producer.get(), &view, &slot));
        }

    private:
        friend class Producer;
        Slot(std::shared_ptr<crn_producer> of, const crn_producer_slot &taken)
            : producer(std::move(of)), slot(taken)
        {
        }
        std::shared_ptr<crn_producer> producer;
        crn_producer_slot slot;
    };

    /** Does not connect yet. @throws ProducerFault: the path, std::bad_alloc */
    explicit Producer(const std::string &path, std::uint64_t view_bytes, std::uint32_t slots = 0)
    {
        crn_producer *made = nullptr;
        const crn_producer_settings settings = {path.c_str(), view_bytes, slots};
        answer_ms = crn_producer_answer_ms(&settings);
        int result = crn_producer_create(&settings, &made);
        if (result == -ENOMEM)
            throw std::bad_alloc();
        if (result < 0)
            throw ProducerFault(-result, "slots: a path of 1 to 107 bytes is expected");
        producer.reset(made, [](crn_producer *it) { crn_producer_free(&it); });
    }

    /** Connects, or again after the daemon has ended; waits crn_producer_answer_ms() for its
     * answer. @throws ProducerFault */
    void connect() { connect(std::chrono::milliseconds(answer_ms)); }

    /** The same with another timeout. @throws ProducerFault */
    void connect(std::chrono::milliseconds timeout)
    {
        check(producer.get(), crn_producer_connect(producer.get(), to_ms(timeout)));
    }

    /** A free slot, or nothing within that time. @throws ProducerFault */
    std::optional<Slot> take(const crn_producer_view &view,
                             std::chrono::milliseconds timeout = std::chrono::milliseconds(0))
    {
        crn_producer_slot taken = {};
        int result = crn_producer_take(producer.get(), &view, to_ms(timeout), &taken);
        if (result == -EAGAIN)
            return std::nullopt;
        check(producer.get(), result);
        return Slot(producer, taken);
    }

    /** Sends the header of a view that found no slot. @throws ProducerFault */
    void send_without(const crn_producer_view &view)
    {
        check(producer.get(), crn_producer_send_without(producer.get(), &view));
    }

    /** Where the slots lie, until the next connect(). @throws ProducerFault */
    crn_producer_ring memory() const
    {
        crn_producer_ring ring = {};
        check(producer.get(), crn_producer_memory(producer.get(), &ring));
        return ring;
    }

private:
    static void check(const crn_producer *of, int result)
    {
        if (result < 0)
            throw ProducerFault(-result, crn_producer_error(of));
    }
    static int to_ms(std::chrono::milliseconds timeout)
    {
        return static_cast<int>(std::min<std::chrono::milliseconds::rep>(timeout.count(), INT_MAX));
    }

    std::shared_ptr<crn_producer> producer;
    int answer_ms = 0;
};

} // namespace cernita

#endif
