"""find_contours and find_contours_many against scikit-image, bit for bit, on random pictures: compare_skimage.py

Prints what differs.
"""
import gc
import multiprocessing
import tempfile
import threading
import warnings

import numpy as np
from skimage.measure import find_contours as peer

import cernita
from cernita._context import Context

SEED = 17
DTYPES = ("f8", "f4", "f2", "u1", "u2", "i1", "i2", "i4", "i8", "u4", "u8", "?", ">f4", ">i2", "g")
rng = np.random.default_rng(SEED)
differing = []


def expect(name, fine):
    if not fine:
        differing.append(name)


def is_same(ours, theirs):
    return len(ours) == len(theirs) and all(
        a.dtype == b.dtype and a.flags.c_contiguous and np.array_equal(a, b) for a, b in zip(ours, theirs))


def random_picture(dtype):
    shape, kind = rng.integers(2, 40, 2), np.dtype(dtype).kind
    picture = rng.random(shape) * (200 if kind in "iu" else 2) - (100 if kind == "i" else 1 if kind == "f" else 0)
    picture = (picture > 1 if kind == "b" else picture).astype(dtype)
    if kind == "f" and rng.random() < .3:
        picture[rng.random(shape) < .05] = np.nan
    change = rng.integers(5)
    return (picture, picture[::-1], picture.T, np.asfortranarray(picture), np.repeat(picture, 2, 1)[:, ::2])[change]


def compare_random(count):
    for _ in range(count):
        dtype = rng.choice(DTYPES)
        picture = random_picture(dtype)
        level = None if rng.random() < .3 else rng.random() * (50 if picture.dtype.kind in "iu" else 1)
        how = {"fully_connected": rng.choice(["low", "high"]), "positive_orientation": rng.choice(["low", "high"]),
               "mask": None if rng.random() < .6 else rng.random(picture.shape) < .9}
        theirs = peer(picture, level, **how)
        what = f"{dtype} {picture.shape} at {level}, {'all' if how['mask'] is None else 'masked'}"
        expect(what, is_same(cernita.find_contours(picture, level, **how), theirs))


def compare_at_the_level(count):
    """Many pixels exactly at the level, or so near to it that only rounding puts points onto them."""
    for number in range(count):
        shape, values = rng.integers(2, 24, 2), rng.integers(2, 12)
        step = (1, .1)[number % 2]
        picture = rng.integers(0, values, shape) * step
        level = rng.integers(0, values) * step
        if number % 4 == 3:
            picture += rng.integers(-1, 2, shape) * 2**-54
        if number % 4 == 2:
            picture = picture.astype(rng.choice(["u1", "f4", "i4"]))
        how = {"fully_connected": rng.choice(["low", "high"]), "positive_orientation": rng.choice(["low", "high"]),
               "mask": None if rng.random() < .6 else rng.random(shape) < .9}
        expect(f"{shape} {picture.dtype} at {level}, number {number}",
               is_same(cernita.find_contours(picture, level, **how), peer(picture, level, **how)))


def passes_infinity(contour, picture):
    """True if a point of it lies beside an infinite pixel, or at NaN, which is where skimage has it there."""
    if np.isnan(contour).any():
        return True
    beyond = np.pad(np.isinf(picture), 1)
    near = beyond[1:-1, 1:-1] | beyond[:-2, 1:-1] | beyond[2:, 1:-1] | beyond[1:-1, :-2] | beyond[1:-1, 2:]
    rows, columns = np.rint(contour).astype(int).T
    return bool(near[rows, columns].any())


def compare_infinities(count):
    """Contours that pass none are the same, all of them where skimage has no point at NaN; what passes one may be
    several of skimage's, and has its finite points."""
    for number in range(count):
        picture = rng.random(rng.integers(4, 30, 2))
        beyond = rng.random(picture.shape) < .02
        picture[beyond] = rng.choice((-np.inf, np.inf), beyond.sum())
        ours, theirs = cernita.find_contours(picture, .5), peer(picture, .5)
        apart = [[one for one in found if not passes_infinity(one, picture)] for found in (ours, theirs)]
        expect(f"apart from infinities, number {number}", is_same(*apart))
        expect(f"no NaN, number {number}", not any(np.isnan(one).any() for one in ours))
        if not any(np.isnan(one).any() for one in theirs):
            expect(f"infinities, number {number}", is_same(ours, theirs))


def compare_complex():
    picture = rng.random((20, 30)) + 1j * rng.random((20, 30))
    for dtype in ("c8", "c16"):
        expect(dtype, is_same(cernita.find_contours(picture.astype(dtype), .5), peer(picture.astype(dtype), .5)))


def compare_odd_memory():
    packed = np.zeros(12 * 9, [("a", "u1"), ("b", "f4")])
    packed["b"] = rng.random(12 * 9)
    field = packed["b"].reshape(12, 9)
    expect("a record's field", is_same(cernita.find_contours(field, .5), peer(field, .5)))
    constant = np.full((5, 5), 7)
    expect("a constant", cernita.find_contours(constant) == [])
    expect("nothing but NaN", cernita.find_contours(np.full((3, 3), np.nan), 0) == [])
    picture = rng.random((60, 50))
    kept = picture.copy()
    contours = cernita.find_contours(picture, .5)
    contours[0][:] = 0
    expect("a picture that is not changed", np.array_equal(picture, kept))
    expect("contours that may be changed", is_same(contours[1:], peer(picture, .5)[1:]))


def planes_of(found, planes):
    return [found.polylines(plane) for plane in range(planes)]


def compare_many():
    maps = rng.random((3, 31, 27, 4), "f4")
    levels = np.array([[.5, .25, .75, np.nan], [.1, .2, .3, .4], [.9, .8, .7, .6]])
    wanted = [[] if np.isnan(levels[n, c]) else peer(maps[n, :, :, c], levels[n, c]) for n in range(3) for c in range(4)]
    found = cernita.find_contours_many(maps, levels)
    expect("a batch", all(map(is_same, planes_of(found, 12), wanted)))
    expect("its offsets", found.offsets[0] == 0 and found.offsets[-1] == len(found.points) and
           np.array_equal(np.diff(found.offsets), [len(line) for line in found]))
    expect("its order", (np.diff(found.planes) >= 0).all() and is_same(found.polylines(), sum(wanted, [])))
    expect("its closed contours", np.array_equal(found.closed, [np.array_equal(c[0], c[-1]) for c in found]))
    expect("an index from the end", np.array_equal(found[-1], wanted[-1][-1]))
    planar = np.ascontiguousarray(maps.transpose(0, 3, 1, 2))
    again = cernita.find_contours_many(planar, levels, layout="chw")
    expect("a planar batch", np.array_equal(again.points, found.points) and np.array_equal(again.planes, found.planes))
    one = cernita.find_contours_many(planar[1], levels[1], "chw", mask=planar[0, 0] > .2)
    expect("planes with a mask", all(is_same(one.polylines(c), peer(planar[1, c], levels[1, c], mask=planar[0, 0] > .2))
                                     for c in range(4)))


def compare_repeated_calls(count):
    """Calls of a form that was met before, which are prepared: other pictures, levels, options and types between."""
    pictures = [np.asfortranarray(one) if n == 2 else one for n in range(4)
                for one in (rng.random((6, 12, 9)) * (1, 1, 1, 3)[n]).astype(("f4", "f8", "f4", "u1")[n])]
    pictures += [picture > .4 for picture in pictures[:3]]
    for _ in range(count):
        picture, level = pictures[rng.integers(len(pictures))], rng.choice([.3, .5, .8])
        how = {"fully_connected": rng.choice(["low", "high"]), "positive_orientation": rng.choice(["low", "high"])}
        theirs = peer(picture, level, **how)
        what = f"repeated {picture.dtype} {picture.strides} at {level}"
        expect(what, is_same(cernita.find_contours(picture, level, **how), theirs))
        levels = (float(level), level, [level], np.full((1, 1), level))[rng.integers(4)]
        threads = rng.choice([1, 2, None])
        found = cernita.find_contours_many(picture, levels, threads=threads and int(threads), **how)
        expect(f"{what}, many", is_same(found.polylines(), theirs))


def refuse_after_calls():
    """What is wrong is refused after a call that was like it but for that."""
    maps = rng.random((5, 6, 3), "f4")
    cernita.find_contours(maps[:, :, 0], .5)
    cernita.find_contours_many(maps, .5, border="closed", threads=1)
    cernita.find_contours_many(maps, .5, threads=1)
    for name, call in (("threads", lambda: cernita.find_contours_many(maps, .5, threads=True)),
                       ("closed level", lambda: cernita.find_contours_many(maps, -.5, border="closed", threads=1)),
                       ("levels", lambda: cernita.find_contours_many(maps, [.5, .5], threads=1)),
                       ("text as level", lambda: cernita.find_contours(maps[:, :, 0], "a")),
                       ("list as option", lambda: cernita.find_contours(maps[:, :, 0], .5, []))):
        try:
            call()
            expect(f"{name}: accepted", False)
        except (TypeError, ValueError):
            pass
    memory = np.zeros(maps.nbytes + 1, "u1")
    askew = memory[1:].view("f4").reshape(maps.shape)
    askew[...] = maps
    expect("askew picture", is_same(cernita.find_contours(askew[:, :, 0], .5), peer(maps[:, :, 0], .5)))
    try:
        cernita.find_contours_many(askew, .5, threads=1)
        expect("askew maps: accepted", False)
    except ValueError:
        pass


def compare_subclasses():
    """Arrays of NumPy's subclasses, of several sizes and types in turn."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (shape, dtype) in enumerate((((200, 210), "f4"), ((20, 30), "f8"), ((9, 9), "u1"))):
            np.save(f"{folder}/{number}.npy", (3 * rng.random(shape)).astype(dtype))
        for number in (0, 1, 2, 0):
            mapped = np.load(f"{folder}/{number}.npy", mmap_mode="r")
            for picture in mapped, np.ma.array(mapped), mapped[1:].view(np.matrix):
                what, theirs = f"{type(picture).__name__} {picture.shape}", peer(np.asarray(picture), 1.5)
                expect(what, is_same(cernita.find_contours(picture, 1.5), theirs))
                expect(f"{what}, many", is_same(cernita.find_contours_many(picture, 1.5).polylines(), theirs))
    for wrong in [[0, 1], [1, 0]], rng.random((3, 3, 3)).view(np.memmap):
        try:
            cernita.find_contours(wrong, .5)
            expect(f"a {type(wrong).__name__}: accepted", False)
        except (TypeError, ValueError):
            pass


def compare_nested_calls():
    """A call that begins while another of its form is about to enter the library, as from a signal's handler."""
    picture, other = rng.random((2, 9, 9))
    cernita.find_contours(picture, .5)
    enter, nested = Context.call, []

    def interrupted(context, *arguments):
        if not nested:
            nested.append(None)
            nested.append(cernita.find_contours(other, .3))
        enter(context, *arguments)

    Context.call = interrupted
    found = cernita.find_contours(picture, .5)
    Context.call = enter
    expect("a call around another", is_same(found, peer(picture, .5)))
    expect("a call within another", is_same(nested[1], peer(other, .3)))


def compare_large():
    """Results that do not fit at first, of planes that are found one by one, whose memory becomes the result's."""
    noise = rng.random((2, 1150, 1000), "f4")
    wanted = peer(noise[0], .5)
    found = cernita.find_contours_many(noise[0], .5, threads=1)
    cernita.find_contours_many(rng.random((30, 30)), .5, threads=1)
    expect("noise", len(found.points) > 1 << 20 and is_same(found.polylines(), wanted))
    both = cernita.find_contours_many(noise, [.5, .999], "chw", threads=2)
    expect("noise of two planes", is_same(both.polylines(0), wanted) and is_same(both.polylines(1), peer(noise[1], .999)))


def compare_in_threads():
    pictures = [rng.random((200, 210)) for _ in range(8)]
    wanted = [peer(picture, .5) for picture in pictures]

    def work(number):
        for _ in range(20):
            expect("threads", is_same(cernita.find_contours(pictures[number], .5), wanted[number]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def count_contexts():
    gc.collect()
    return sum(isinstance(thing, Context) for thing in gc.get_objects())


def compare_context_counts():
    """Threads that have ended hold none; one with many settings holds the most recent."""
    before = count_contexts()
    for _ in range(20):
        thread = threading.Thread(target=cernita.find_contours, args=(rng.random((9, 9)), .5))
        thread.start()
        thread.join()
    expect("contexts of ended threads", count_contexts() == before)
    for threads in range(1, 30):
        cernita.haar(np.zeros((4, 4), "f4"), 1, threads=threads)
    expect("contexts of a thread", count_contexts() <= before + 8)
    cernita.free_contexts()
    expect("freed contexts", count_contexts() < before + 8)


def count_points(picture):
    return len(cernita.find_contours_many(picture, .9, threads=2).points)


def compare_in_forked_children():
    picture = rng.random((1500, 1500), "f4")
    wanted = count_points(picture)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        waiting = pool.map_async(count_points, [picture] * 3)
        try:
            expect("forked children", waiting.get(timeout=60) == [wanted] * 3)
        except multiprocessing.TimeoutError:
            pool.terminate()
            expect("forked children: no answer", False)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # integers whose sum wraps, in the level by default, on both sides
    compare_random(1500)
    compare_complex()  # the imaginary part is lost, on both sides
    compare_infinities(500)
compare_at_the_level(3000)
compare_odd_memory()
compare_many()
compare_repeated_calls(3000)
refuse_after_calls()
compare_subclasses()
compare_nested_calls()
compare_large()
compare_in_threads()
compare_context_counts()
compare_in_forked_children()
print(f"differs (seed {SEED}): {'; '.join(differing[:10])}" if differing else "all as skimage")
