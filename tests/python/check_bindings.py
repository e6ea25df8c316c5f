"""The package's operators against their peers, on small pictures: check_bindings.py LIBRARY TOOLS_PYTHON

Whether arguments arrive as they are meant, not whether the operators are right. Prints what differs.
"""
import os
import sys

os.environ["CRN_LIBRARY"] = sys.argv[1]
sys.path.insert(0, sys.argv[2])

import numpy as np
from scipy import ndimage
from skimage.measure import find_contours

import cernita
from cernita._arrays import image_of

rng = np.random.default_rng(5)
differing = []


def expect(name, fine):
    if not fine:
        differing.append(name)


rgb = rng.integers(0, 256, (23, 31, 3), "u1")
grey, maps = rgb[:, :, 1].copy(), rng.random((19, 27, 2), "f4")

found = cernita.find_contours_many(maps, [.4, np.nan])
wanted = find_contours(maps[:, :, 0], .4)
expect("contours", len(wanted) == len(found.polylines(0)) and not found.polylines(1) and
       all(np.array_equal(a, b) for a, b in zip(found.polylines(0), wanted)))

# scipy's even origin is one to the right of ours where the element is reflected; odd sizes agree.
members = rng.integers(0, 2, (3, 5))
members[1, 2] = 1
expect("morphology", np.array_equal(cernita.morphology(grey, "erode", members),
                                    ndimage.grey_erosion(grey, footprint=members, mode="constant", cval=255)))
expect("morphology of planes", np.array_equal(cernita.morphology(rgb, "dilate", "rect", (5, 3))[:, :, 1],
                                              ndimage.grey_dilation(grey, (3, 5), mode="constant", cval=0)))
heights = rng.integers(-9, 9, (3, 3)).astype("f4")
expect("morphology with heights", np.array_equal(
    cernita.morphology(maps[:, :, 0].copy(), "open", np.ones((3, 3)), heights=heights, backend="serial"),
    cernita.morphology(maps[:, :, 0].copy(), "open", np.ones((3, 3)), heights=heights, threads=2)))

kernel = rng.standard_normal((3, 5)).astype("f4")
expect("convolve", np.allclose(cernita.convolve(maps[:, :, 1].copy(), kernel, border="reflect"),
                               ndimage.correlate(maps[:, :, 1], kernel, mode="mirror"), atol=1e-5))
sharpen = np.full((3, 3), -1)
sharpen[1, 1] = 9
expect("convolve of planes", np.array_equal(
    cernita.convolve(rgb, sharpen, border="wrap")[:, :, 1],
    np.clip(ndimage.correlate(grey.astype(int), sharpen, mode="wrap"), 0, 255)))

square = np.array([[1, 2], [3, 5]], "f4")
expect("haar", np.array_equal(cernita.haar(square, 1), [[5.5, -1.5], [-2.5, .5]]))
expect("haar and back", np.allclose(cernita.haar(cernita.haar(maps, 3), 3, direction="inverse"), maps, atol=1e-6))
expect("haar of bytes", np.allclose(cernita.haar(rgb, 2, direction="denoise", unit=True), rgb / 255, atol=1e-6))

left = np.repeat([[9, 9, 1, 1]], 4, 0).astype("u1")
expect("ranklet", cernita.ranklet(left, 4).ravel().tolist() == [1, 0, 0])
expect("ranklet of windows", cernita.ranklet(grey, (4, 8)).shape == (3, 16, 28))

expect("one plane's stride", image_of(grey).plane_stride == grey.size and image_of(rgb).plane_stride == 1)

whole = cernita.diamond_square(5, 7, roughness=.6, dtype="float32")
part = cernita.diamond_square(5, 7, roughness=.6, dtype="float32", x=3, y=9, size=(11, 6), backend="serial")
expect("diamond_square", whole.shape == (33, 33) and np.array_equal(whole[9:15, 3:14], part))

again = np.empty_like(grey)
expect("a given result", cernita.morphology(grey, "erode", "disk", 3, out=again) is again and
       np.array_equal(again, cernita.morphology(grey, "erode", "disk", 3)))

# Where there is a device, the same of it; where there is none, that this is said.
if cernita.missing("cuda") and not os.environ.get("CRN_REQUIRE_GPU"):
    try:
        cernita.haar(grey, 1, backend="cuda")
        expect("no device", False)
    except OSError as fault:
        expect("why there is no device", cernita.missing("cuda") in str(fault))
else:
    expect("haar on a device", np.array_equal(cernita.haar(maps, 2, backend="cuda"), cernita.haar(maps, 2)))
    on_device = cernita.find_contours_many(maps, [.4, np.nan], backend="cuda")
    expect("contours on a device", np.array_equal(on_device.points, found.points) and
           np.array_equal(on_device.offsets, found.offsets))
    expect("morphology on a device", np.array_equal(cernita.morphology(rgb, "open", "disk", 5, backend="cuda"),
                                                    cernita.morphology(rgb, "open", "disk", 5)))
    expect("diamond_square on a device", np.array_equal(cernita.diamond_square(5, 7, backend="cuda"),
                                                        cernita.diamond_square(5, 7)))
expect("other backends", cernita.missing("serial") is None and cernita.missing("openmp") is None)

print(f"differs: {', '.join(differing)}" if differing else "all as meant")
