/* The producer's header for C++17: slots are given back, moved and sent, faults are exceptions. */
#include "stages/producer/cernita_producer.hpp"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/support/slots/slots_peer.h"

extern "C" {
#include <cmocka.h>
#include "tests/support/folder.h"
}

using cernita::Producer;
using cernita::ProducerFault;
using std::chrono::seconds;

static crn_producer_view make_view()
{
    crn_producer_view view = {};
    view.height = 4;
    view.width = 3;
    view.channels = 2;
    view.type = CRN_PRODUCER_F32;
    view.layout = CRN_PRODUCER_CHW;
    view.has_intensity = 1;
    return view;
}

static slots_peer peer;

static std::string path()
{
    return std::string(test_folder) + "/slots";
}

static Producer connected(std::uint32_t slots)
{
    const crn_producer_view view = make_view();
    Producer producer(path(), crn_producer_view_bytes(&view));
    slots_peer_listen(&peer, path().c_str(), slots);
    slots_peer_accept(&peer);
    producer.connect(seconds(60));
    slots_peer_join(&peer);
    return producer;
}

static int clean_up(void **state)
{
    slots_peer_close(&peer);
    return test_folder_remove(state);
}

static void a_view_is_written_and_sent(void **)
{
    Producer producer = connected(2);
    const crn_producer_view view = make_view();
    auto slot = producer.take(view, seconds(60));
    assert_true(slot.has_value());
    slot->tensor<float>()[23] = 0.5F;
    slot->intensity()[11] = 7;
    slot->send(view);
    assert_null(slot->tensor<float>());
    unsigned char packet[256];
    assert_int_equal(slots_peer_receive(&peer, packet, sizeof packet), 152);
    float last = 0;
    std::memcpy(&last, peer.memory + 23 * sizeof last, sizeof last);
    assert_true(last == 0.5F);
    assert_int_equal(peer.memory[128 + 11], 7);
    slot.reset();
    assert_int_equal(peer.words[0], crn_slots_word(0, CRN_SLOTS_SENT));
}

static void a_slot_is_given_back(void **)
{
    Producer producer = connected(1);
    const crn_producer_view view = make_view();
    {
        auto slot = producer.take(view);
        assert_true(slot.has_value());
        assert_false(producer.take(view).has_value());
        Producer::Slot moved = std::move(*slot);
        assert_null(slot->tensor<float>());
        slot.reset();
        assert_false(producer.take(view).has_value());
        assert_non_null(moved.tensor<float>());
    }
    assert_true(producer.take(view).has_value());
    producer.send_without(view);
    unsigned char packet[256];
    assert_int_equal(slots_peer_receive(&peer, packet, sizeof packet), 128);
}

static void a_slot_may_outlive_its_producer(void **)
{
    const crn_producer_view view = make_view();
    std::optional<Producer::Slot> slot;
    {
        Producer producer = connected(1);
        slot = producer.take(view);
    }
    slot->tensor<float>()[0] = 1;
    slot->send(view);
}

static void faults_are_exceptions(void **)
{
    Producer producer(path(), 1);
    try {
        producer.connect();
        fail();
    } catch (const ProducerFault &fault) {
        assert_int_equal(fault.code(), ENOENT);
        assert_non_null(std::strstr(fault.what(), "there is no such socket"));
    }
    try {
        Producer nowhere("", 1);
        fail();
    } catch (const ProducerFault &fault) {
        assert_int_equal(fault.code(), EINVAL);
    }
    try {
        producer.take(make_view());
        fail();
    } catch (const ProducerFault &fault) {
        assert_int_equal(fault.code(), ENOTCONN);
    }
}

static void a_producer_connects_again(void **)
{
    const crn_producer_view view = make_view();
    Producer producer = connected(1);
    auto slot = producer.take(view);
    slots_peer_close(&peer);
    try {
        slot->send(view);
        fail();
    } catch (const ProducerFault &fault) {
        assert_int_equal(fault.code(), ENOTCONN);
        assert_null(slot->tensor<float>());
    }
    slots_peer_listen(&peer, path().c_str(), 3);
    slots_peer_accept(&peer);
    producer.connect(seconds(60));
    assert_int_equal(producer.memory().slots, 3);
    assert_true(producer.take(view).has_value());
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_view_is_written_and_sent, test_folder_make, clean_up),
        cmocka_unit_test_setup_teardown(a_slot_is_given_back, test_folder_make, clean_up),
        cmocka_unit_test_setup_teardown(a_slot_may_outlive_its_producer, test_folder_make,
                                        clean_up),
        cmocka_unit_test_setup_teardown(faults_are_exceptions, test_folder_make, clean_up),
        cmocka_unit_test_setup_teardown(a_producer_connects_again, test_folder_make, clean_up),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
