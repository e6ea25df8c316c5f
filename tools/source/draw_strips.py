#!/usr/bin/env python3
"""Draws how the views of a fruit are joined: stages/surface/strips.svg.

    tools/source/draw_strips.py             writes stages/surface/strips.svg

Four views, the strip that each owns, and what becomes of three spots in the equal-area chart. Needs Python only.
"""

import math
import pathlib

VIEWS = 4
RADIUS = 92
GAP = 28
MARGIN = 24
CHART = (4 * (2 * RADIUS) + 3 * GAP, 200)
WIDTH = CHART[0] + 2 * MARGIN
CHART_TOP = MARGIN + 40 + 2 * RADIUS + 58
HEIGHT = CHART_TOP + CHART[1] + 62
SEEN = math.radians(75)

COLOURS = ("#dbe9fb", "#fdebc8", "#d9f0dc", "#f3dcee")
EDGES = ("#2f6fc4", "#b07d10", "#2d8a3e", "#a2488f")
SPOT = "#8c3b2a"

# Longitude and height along the axis of a spot's middle, its radius, in radians.
SPOTS = ((math.radians(45), 0.25, 0.36), (math.radians(165), -0.35, 0.22), (math.radians(-100), 0.78, 0.30))


def sphere(lam, v):
    r = math.sqrt(max(0, 1 - v * v))
    return (r * math.sin(lam), v, r * math.cos(lam))


def rim(spot):
    """Points of the spot's edge on the unit sphere."""
    lam, v, radius = spot
    p = sphere(lam, v)
    r = math.sqrt(1 - v * v)
    s = (math.cos(lam), 0, -math.sin(lam))
    t = (-v * math.sin(lam), r, -v * math.cos(lam))
    for i in range(121):
        phi = 2 * math.pi * i / 120
        yield tuple(math.cos(radius) * p[k] + math.sin(radius) * (math.cos(phi) * s[k] + math.sin(phi) * t[k])
                    for k in range(3))


def turned(point, roll):
    c, s = math.cos(roll), math.sin(roll)
    x, y, z = point
    return (c * x + s * z, y, c * z - s * x)


def path(points):
    return "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in points)


def text(x, y, words, size=13, anchor="middle", colour="#1f2328"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def strip_outline(x0, y0):
    """The longitudes of 45 degrees to either side of a view's middle."""
    half = math.pi / VIEWS
    left = [(-math.sin(half) * math.cos(a), math.sin(a)) for a in (math.pi * (i / 40 - 0.5) for i in range(41))]
    return path([(x0 + RADIUS * x, y0 + RADIUS * y) for x, y in left] +
                [(x0 - RADIUS * x, y0 + RADIUS * y) for x, y in reversed(left)]) + "Z"


def draw_view(number, out):
    x0 = MARGIN + RADIUS + number * (2 * RADIUS + GAP)
    y0 = MARGIN + 40 + RADIUS
    roll = 2 * math.pi * number / VIEWS
    out.append(text(x0, MARGIN + 22, f"view {number}, rolled {360 * number // VIEWS}°"))
    out.append(f'<circle cx="{x0}" cy="{y0}" r="{RADIUS}" fill="#f6f7f8" stroke="#57606a" stroke-width="1.5"/>')
    out.append(f'<path d="{strip_outline(x0, y0)}" fill="{COLOURS[number]}" stroke="{EDGES[number]}"/>')
    for spot in SPOTS:
        shown = [turned(p, roll) for p in rim(spot)]
        if max(p[2] for p in shown) <= 0:
            continue
        edge = []
        for x, y, z in shown:
            size = math.hypot(x, y) if z < 0 else 1
            edge.append((x0 + RADIUS * x / size, y0 + RADIUS * y / size))
        out.append(f'<path d="{path(edge)}Z" fill="{SPOT}" fill-opacity="0.55" stroke="{SPOT}"/>')


def chart_point(lam, v):
    return (MARGIN + CHART[0] * ((lam / (2 * math.pi) + 1 / (2 * VIEWS)) % 1), CHART_TOP + CHART[1] * (v + 1) / 2)


def draw_seen(number, out):
    """Where the view shows the surface more inclined than 75 degrees: above and below these curves."""
    width = CHART[0] / VIEWS
    x0 = MARGIN + ((VIEWS - number) % VIEWS) * width
    for sign in (-1, 1):
        border = CHART_TOP + (CHART[1] if sign > 0 else 0)
        edge = []
        for i in range(41):
            lam = math.pi / VIEWS * (i / 20 - 1)
            v = math.sqrt(max(0, 1 - (math.cos(SEEN) / math.cos(lam)) ** 2))
            edge.append((x0 + width * i / 40, CHART_TOP + CHART[1] * (1 + sign * v) / 2))
        out.append(f'<path d="{path([(x0, border)] + edge + [(x0 + width, border)])}Z" fill="#8b949e" '
                   'fill-opacity="0.45"/>')


def draw_chart(out):
    width = CHART[0] / VIEWS
    out.append(text(MARGIN, CHART_TOP - 14, "the chart: longitude, and height along the axis; equal areas are equal",
                    anchor="start"))
    for number in range(VIEWS):
        x = MARGIN + ((VIEWS - number) % VIEWS) * width
        out.append(f'<rect x="{x:.1f}" y="{CHART_TOP}" width="{width:.1f}" height="{CHART[1]}" '
                   f'fill="{COLOURS[number]}" stroke="{EDGES[number]}"/>')
        out.append(text(x + width / 2, CHART_TOP + CHART[1] + 18, f"strip of view {number}", colour=EDGES[number]))
        draw_seen(number, out)
    for spot in SPOTS:
        edge = []
        for x, y, z in rim(spot):
            lam = spot[0] + math.remainder(math.atan2(x, z) - spot[0], 2 * math.pi)
            base = chart_point(spot[0], 0)[0]
            edge.append((base + CHART[0] * (lam - spot[0]) / (2 * math.pi), CHART_TOP + CHART[1] * (y + 1) / 2))
        out.append(f'<path d="{path(edge)}Z" fill="{SPOT}" fill-opacity="0.55" stroke="{SPOT}"/>')
    out.append(text(MARGIN, CHART_TOP + CHART[1] + 44,
                    "grey: inclined by more than 75° in every view, which coverage leaves out", anchor="start",
                    colour="#57606a"))


def main():
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
    for number in range(VIEWS):
        draw_view(number, out)
    draw_chart(out)
    out.append("</svg>")
    target = pathlib.Path(__file__).resolve().parents[2] / "stages/surface/strips.svg"
    target.write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
